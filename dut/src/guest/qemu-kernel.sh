# Takes Debian's kernel for virtual machines from its package, and builds Jool's modules for it. Arguments: the folder
# of the unpacked packages, the configuration, the number of jobs. Leaves the kernel in `kernel` and its modules in
# `tree`.
set -eu
packages=$1 jobs=$3
here=$PWD
cp "$packages"/boot/vmlinuz-* kernel
release=$(ls "$packages/lib/modules" 2>/dev/null || ls "$packages/usr/lib/modules")
mkdir -p tree/lib/modules
for lib in lib usr/lib; do
    [ ! -e "$packages/$lib/modules/$release/kernel" ] || cp -r "$packages/$lib/modules/$release" tree/lib/modules/
done
modules=$here/tree/lib/modules/$release
mkdir -p "$modules/extra"
headers=$packages/usr/src/linux-headers-$release
sed -i "s|^include /usr/src/|include $packages/usr/src/|" "$headers/Makefile"
# Links to folders below /usr would lead to this machine's.
for link in scripts tools; do
    [ ! -L "$headers/$link" ] || ln -sfn "$(echo "$packages"/usr/lib/linux-kbuild-*/"$link")" "$headers/$link"
done
for part in common nat64 siit; do
    make -s -j"$jobs" -C "$headers" M="$(echo "$packages"/usr/src/jool-dkms-*)/src/mod/$part" modules
done
find "$packages"/usr/src/jool-dkms-* -name '*.ko' -exec cp {} "$modules/extra" \;
strip -g "$modules"/extra/*.ko

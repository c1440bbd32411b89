# Builds User-Mode Linux and Jool's modules for it from the sources of Debian's packages. Arguments: the folder of the
# unpacked packages, the configuration, the number of jobs. Leaves the kernel in `kernel` and its modules in `tree`.
set -eu
packages=$1 config=$2 jobs=$3
here=$PWD
# flex, bison and m4 run from their packages.
export PATH="$packages/usr/bin:$PATH" BISON_PKGDATADIR="$packages/usr/share/bison" M4="$packages/usr/bin/m4"
export LD_LIBRARY_PATH="$packages/usr/lib/x86_64-linux-gnu" KBUILD_BUILD_USER=natmeter KBUILD_BUILD_HOST=natmeter
tar -xf "$packages"/usr/src/linux-source-*.tar.xz --exclude='*/sound/*.[chS]' --exclude='*/drivers/gpu/*.[chS]'
cd linux-source-*
# This kernel has room for 2,696 octets of a process's extended registers. Processors with AMX have 11,008, and the host accepts
# all or none of them. `CONFIG_KERNEL_STACK_ORDER` makes stacks as large as they must be for that.
sizes=arch/x86/um/user-offsets.c
sed -i 's/HOST_FP_SIZE, 2696/HOST_FP_SIZE, 16384/' $sizes
grep -q 'HOST_FP_SIZE, 16384' $sizes || { echo "$sizes has changed: look at HOST_FP_SIZE" >&2; exit 1; }
make -s ARCH=um O="$here/obj" KCONFIG_ALLCONFIG="$config" allnoconfig
while read -r line; do
    case $line in CONFIG_*) grep -qxF "$line" "$here/obj/.config" || { echo "this kernel has no $line" >&2; exit 1; } ;; esac
done <"$config"
make -s -j"$jobs" ARCH=um O="$here/obj" linux modules
release=$(cat "$here/obj/include/config/kernel.release")
modules=$here/tree/lib/modules/$release
mkdir -p "$modules/extra"
for part in common nat64 siit; do
    make -s -j"$jobs" ARCH=um -C "$here/obj" M="$(echo "$packages"/usr/src/jool-dkms-*)/src/mod/$part" modules
done
find "$packages"/usr/src/jool-dkms-* -name '*.ko' -exec cp {} "$modules/extra" \;
strip -g "$modules"/extra/*.ko
strip -o "$here/kernel" "$here/obj/linux"
cp "$here"/obj/modules.builtin* "$modules"
: >"$modules/modules.order"

# Lets a guest take commands by ssh through its interface `control`. Argument: its address with the length of the prefix.
# Standard input: the public keys of those who may log in. Prints its own public key.
set -e
address=$1
printf 'root:*:0:0::/root:/bin/sh\nsshd:*:101:65534::/run/sshd:/bin/false\n' >/etc/passwd
printf 'root:*:0:\nnogroup:*:65534:\n' >/etc/group
# sshd separates its privileges in this folder.
mkdir -p /run/sshd /root/.ssh
chmod 0755 /run/sshd
cat >/root/.ssh/authorized_keys
chmod 0700 /root /root/.ssh
chmod 0600 /root/.ssh/authorized_keys
ssh-keygen -q -t ed25519 -N '' -C guest -f /run/host-key
ip addr add "$address" dev control
/usr/sbin/sshd -f /dev/null -o HostKey=/run/host-key -o ListenAddress="${address%/*}" -o AuthenticationMethods=publickey \
    -o PidFile=none -o SetEnv="PATH=$PATH"
# sshd goes into the background before it listens: on port 0x16, state 0A.
until grep -q ':0016 00000000:0000 0A' /proc/net/tcp; do sleep 0.1; done
cat /run/host-key.pub

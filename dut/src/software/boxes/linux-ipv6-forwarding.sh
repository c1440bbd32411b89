settings='net.ipv6.conf.all.forwarding=1'
add() { :; }
remove() { :; }

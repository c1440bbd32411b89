settings='net.ipv4.ip_forward=1'
add() { :; }
remove() { :; }

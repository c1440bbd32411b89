rule() {
  some=; if [ "$4" -gt 1 ]; then some="-m statistic --mode nth --every $4"; fi
  $program -w 10 -t nat "$1" POSTROUTING -o "$right" -p "$2" $some -j SNAT --to-source "$3"
}
add() {
  each_block rule -A
  table
}
remove() { each_block rule -D; }

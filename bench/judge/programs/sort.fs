\ Bubbles and sieves over an array of cells.
8192 constant size
create table size cells allot
variable seed
: next-number seed @ 1103515245 * 12345 + 2147483647 and dup seed ! ;
: fill-table size 0 do next-number table i cells + ! loop ;
: pass ( n -- ) 0 do table i cells + dup @ over cell+ @ 2dup > if rot tuck ! cell+ ! else 2drop drop then loop ;
: sort-table size 1 do size i - pass loop ;
: run 1 seed ! 0 do fill-table sort-table loop table @ . ;

# Tcl: arrays, strings, a child.
if {[info exists env(COUNTED)]} { set mark [open $env(COUNTED) a]; puts $mark once; close $mark }
for {set i 0} {$i < 300000} {incr i} { incr sum([expr {$i % 1000}]) $i }
puts "$sum(77) [string length [join [array names sum]]] [exec echo child]"
exit 21

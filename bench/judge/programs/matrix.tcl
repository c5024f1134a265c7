# Product of two square matrices in nested lists.
proc matrix {n seed} {
	set rows {}
	for {set i 0} {$i < $n} {incr i} {
		set row {}
		for {set j 0} {$j < $n} {incr j} { set seed [expr {($seed * 1103515245 + 12345) % 2147483648}]; lappend row [expr {$seed % 1000}] }
		lappend rows $row
	}
	return $rows
}
proc multiply {a b n} {
	set result {}
	foreach row $a {
		set line {}
		for {set j 0} {$j < $n} {incr j} {
			set sum 0
			for {set k 0} {$k < $n} {incr k} { set sum [expr {$sum + [lindex $row $k] * [lindex $b $k $j]}] }
			lappend line $sum
		}
		lappend result $line
	}
	return $result
}
set n [lindex $argv 0]
puts [lindex [multiply [matrix $n 1] [matrix $n 2] $n] 3 4]

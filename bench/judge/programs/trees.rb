# Binary trees made and dropped.
def make(depth) = depth.zero? ? [nil, nil] : [make(depth - 1), make(depth - 1)]
def count(tree) = tree[0] ? 1 + count(tree[0]) + count(tree[1]) : 1
kept = make(16)
Integer(ARGV[0]).times { |i| puts count(make(14)) if i % 10 == 0; make(12) }
puts count(kept)

% All placements of queens.
queens(N, Qs) :- numlist(1, N, Ns), place(Ns, [], Qs).
place([], Qs, Qs).
place(Left, Placed, Qs) :- select(Q, Left, Rest), safe(Q, 1, Placed), place(Rest, [Q|Placed], Qs).
safe(_, _, []).
safe(Q, D, [P|Ps]) :- Q =\= P + D, Q =\= P - D, D1 is D + 1, safe(Q, D1, Ps).
main :- current_prolog_flag(argv, As), last(As, A), atom_number(A, N), aggregate_all(count, queens(N, _), C), writeln(C).

%% Erlang: processes and messages; the virtual machine compiles to native code.
-module(compute).
-export([main/0]).

mix(0, Value) -> Value;
mix(N, Value) -> mix(N - 1, (Value * 31 + N) rem 1000003).

main() ->
    case os:getenv("COUNTED") of
        false -> ok;
        Path -> ok = file:write_file(Path, <<"once\n">>, [append])
    end,
    Self = self(),
    Processes = [spawn(fun() -> Self ! {self(), mix(20000 + N, N)} end) || N <- lists:seq(1, 200)],
    Values = [receive {Process, Value} -> Value end || Process <- Processes],
    io:format("~p~n", [lists:sum(Values)]),
    halt(15).

{ Pascal: a static program with a run-time system of its own. }
program compute;
uses sysutils;
var
  mark: text;
  path: string;
  i: longint;
  value: qword;
begin
  path := GetEnvironmentVariable('COUNTED');
  if path <> '' then begin
    assign(mark, path);
    append(mark);
    writeln(mark, 'once');
    close(mark);
  end;
  value := 1;
  for i := 1 to 100000000 do
    value := value * 31 + qword(i);
  writeln(value);
  halt(23);
end.

--  Ada: tasks, exceptions.
with Ada.Command_Line;
with Ada.Environment_Variables;
with Ada.Text_IO;

procedure Compute is
   Error : exception;
   type Number is mod 2 ** 64;
   Sums : array (1 .. 4) of Number := (others => 1);
   Caught : Natural := 0;

   procedure Mark is
      File : Ada.Text_IO.File_Type;
   begin
      if Ada.Environment_Variables.Exists ("COUNTED") then
         Ada.Text_IO.Open (File, Ada.Text_IO.Append_File, Ada.Environment_Variables.Value ("COUNTED"));
         Ada.Text_IO.Put_Line (File, "once");
         Ada.Text_IO.Close (File);
      end if;
   end Mark;
begin
   Mark;
   declare
      task type Worker (I : Integer);
      task body Worker is
      begin
         for K in 1 .. 50_000_000 loop
            Sums (I) := Sums (I) * 31 + Number (K);
         end loop;
      end Worker;
      A : Worker (1);
      B : Worker (2);
   begin
      for I in 1 .. 1000 loop
         begin
            raise Error;
         exception
            when Error => Caught := Caught + 1;
         end;
      end loop;
   end;
   Ada.Text_IO.Put_Line (Number'Image (Sums (2)) & Natural'Image (Caught));
   Ada.Command_Line.Set_Exit_Status (22);
end Compute;

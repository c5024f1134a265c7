(* OCaml: hash tables, lists, exceptions, garbage. *)
let () =
  (match Sys.getenv_opt "COUNTED" with
   | Some path ->
     let mark = open_out_gen [Open_append; Open_wronly] 0 path in
     output_string mark "once\n";
     close_out mark
   | None -> ());
  let table = Hashtbl.create 16 and caught = ref 0 in
  for i = 0 to 1_000_000 do
    let key = string_of_int (i mod 3000) in
    (try if i mod 5 = 0 then raise Not_found with Not_found -> incr caught);
    Hashtbl.replace table key (i + try Hashtbl.find table key with Not_found -> 0)
  done;
  let list = List.init 200_000 (fun i -> i * 7919 mod 100_003) in
  Printf.printf "%d %d %d\n" (Hashtbl.find table "77") !caught (List.nth (List.sort compare list) 77);
  exit 13

(* Programs at the ends: streams, requests and answers, datagrams, a name server. `ends MODE name=value …`; they print JSON. *)

let settings = Hashtbl.create 16
let text name fallback = try Hashtbl.find settings name with Not_found -> fallback
let number name fallback = try float_of_string (Hashtbl.find settings name) with Not_found -> fallback
let whole name fallback = int_of_float (number name (float_of_int fallback))
let now = Unix.gettimeofday
let sleep s = if s > 0. then Unix.sleepf s

let address () =
  Unix.ADDR_INET (Unix.inet_addr_of_string (text "host" "0.0.0.0"), whole "port" 5001)

let prepare socket =
  Unix.setsockopt socket Unix.SO_REUSEADDR true;
  if Hashtbl.mem settings "rcvbuf" then Unix.setsockopt_int socket Unix.SO_RCVBUF (whole "rcvbuf" 0);
  if Hashtbl.mem settings "sndbuf" then Unix.setsockopt_int socket Unix.SO_SNDBUF (whole "sndbuf" 0)

let prepared kind =
  let socket = Unix.socket Unix.PF_INET kind 0 in
  prepare socket;
  socket

let swift socket = if whole "nodelay" 0 = 1 then Unix.setsockopt socket Unix.TCP_NODELAY true

let listening () =
  let socket = prepared Unix.SOCK_STREAM in
  Unix.bind socket (address ());
  Unix.listen socket (whole "backlog" 16);
  socket

let connected () =
  let socket = prepared Unix.SOCK_STREAM in
  if Hashtbl.mem settings "from" then Unix.bind socket (Unix.ADDR_INET (Unix.inet_addr_any, whole "from" 0));
  Unix.connect socket (address ());
  swift socket;
  socket

let rec write_all socket data at octets =
  if octets > 0 then begin
    let done_ = Unix.write socket data at octets in
    write_all socket data (at + done_) (octets - done_)
  end

(* A time between requests: fixed, or drawn as those of people are. *)
let between name =
  let mean = number name 0. /. 1000. in
  if mean = 0. then 0.
  else if whole "irregular" 0 = 1 then min (4. *. mean) (-.mean *. log (1. -. Random.float 0.999))
  else if whole "jitter" 0 > 0 then mean *. (1. +. (Random.float 2. -. 1.) *. number "jitter" 0. /. 100.)
  else mean

let print_read octets seconds = Printf.printf "{\"read\": %d, \"seconds\": %.6f}\n%!" octets seconds
let print_sent octets seconds = Printf.printf "{\"sent\": %d, \"seconds\": %.6f}\n%!" octets seconds

(* Reads to the end, at most so many octets; pauses every so many octets, or keeps to a rate. *)
let read_from socket most =
  let block = whole "read" 65536 in
  let data = Bytes.create block and begun = ref 0. and total = ref 0 and since = ref 0 in
  let every = whole "every" max_int and rate = number "read_rate" 0. in
  let tell = whole "tell" 0 and told = ref 0 in
  (try
     while !total < most do
       let octets = Unix.read socket data 0 (min block (most - !total)) in
       if octets = 0 then raise End_of_file;
       if !begun = 0. then begun := now ();
       total := !total + octets;
       since := !since + octets;
       while tell > 0 && !total - !told >= tell do
         told := !told + tell;
         sleep (between "work_ms");
         write_all socket (Bytes.make 1 '+') 0 1
       done;
       if !since >= every then begin
         since := !since - every;
         sleep (between "pause_ms")
       end;
       if rate > 0. then sleep (!begun +. float_of_int (8 * !total) /. rate -. now ())
     done
   with End_of_file | Unix.Unix_error (Unix.ECONNRESET, _, _) -> ());
  print_read !total (now () -. !begun)

(* Writes so many octets in writes of a size; pauses every so many octets; may wait for an octet of the other end after each write. *)
let write_to socket total =
  let size = whole "write" 65536 and every = whole "write_every" max_int and rate = number "write_rate" 0. in
  let data = Bytes.init size (fun i -> Char.chr (33 + (i * 7 + i / 13) mod 90)) and begun = now () in
  let sent = ref 0 and since = ref 0 and confirmed = whole "confirmed" 0 = 1 and one = Bytes.create 1 in
  (try
     while !sent < total do
       let octets = min size (total - !sent) in
       write_all socket data 0 octets;
       sent := !sent + octets;
       since := !since + octets;
       if confirmed && Unix.read socket one 0 1 = 0 then raise End_of_file;
       if !since >= every then begin
         since := !since - every;
         sleep (between "write_pause_ms")
       end;
       if rate > 0. then sleep (begun +. float_of_int (8 * !sent) /. rate -. now ())
     done
   with End_of_file | Unix.Unix_error ((Unix.EPIPE | Unix.ECONNRESET), _, _) -> ());
  print_sent !sent (now () -. begun)

let read_line socket =
  let one = Bytes.create 1 and line = Buffer.create 64 in
  let rec next () =
    if Unix.read socket one 0 1 = 0 then raise End_of_file;
    if Bytes.get one 0 <> '\n' then (Buffer.add_bytes line one; next ())
  in
  next ();
  Buffer.contents line

let each_connection handle =
  let listener = listening () in
  for _ = 1 to whole "connections" 1 do
    let socket, _ = Unix.accept listener in
    swift socket;
    sleep (number "greet_ms" 0. /. 1000.);
    if whole "greet" 0 = 1 then write_all socket (Bytes.of_string "220 ready\r\n") 0 11;
    if whole "together" 0 = 1 then ignore (Thread.create (fun () -> (try handle socket with _ -> ()); Unix.close socket) ())
    else begin
      (try handle socket with End_of_file -> ());
      Unix.close socket
    end
  done;
  if whole "together" 0 = 1 then sleep 30.

let read_exactly socket data octets =
  let at = ref 0 in
  while !at < octets do
    let got = Unix.read socket data !at (octets - !at) in
    if got = 0 then raise End_of_file;
    at := !at + got
  done

(* Answers requests of a size with answers of a size, each after a time. *)
let answer socket =
  let size = whole "size" 100 and reply = whole "reply" 400 in
  let question = Bytes.create (max 1 size) and content = Bytes.make (max 1 reply) 'a' and count = ref 0 in
  let busy = ref 0. in
  (try
     while true do
       read_exactly socket question size;
       let pause = between "think_ms" in
       busy := !busy +. pause;
       sleep pause;
       if whole "reply_parts" 1 = 2 then begin
         write_all socket content 0 (min 60 reply);
         write_all socket content 0 (max 0 (reply - 60))
       end
       else write_all socket content 0 reply;
       incr count
     done
   with End_of_file | Unix.Unix_error _ -> ());
  Printf.printf "{\"answered\": %d, \"busy_s\": %.3f}\n%!" !count !busy

let ask () =
  let size = whole "size" 100 and reply = whole "reply" 400 and count = whole "count" 50 and parts = whole "parts" 1 in
  let content = Bytes.make (max 1 size) 'q' and data = Bytes.create (max 1 reply) in
  let each = whole "each" 0 = 1 and depth = whole "depth" 1 and idle = ref 0. and begun = now () in
  let socket = ref (connected ()) in
  let asked = ref 0 and waits = ref [] in
  while !asked < count && now () -. begun < number "most_s" 20. do
    let since = now () in
    for _ = 1 to depth do
      if parts > 1 then
        for part = 0 to parts - 1 do
          write_all !socket content 0 (if part < parts - 1 then size / parts else size - (parts - 1) * (size / parts))
        done
      else write_all !socket content 0 size
    done;
    for _ = 1 to depth do read_exactly !socket data reply done;
    waits := (now () -. since) :: !waits;
    asked := !asked + depth;
    let pause = between "pause_ms" in
    idle := !idle +. pause;
    if each then Unix.close !socket;
    if whole "slot_ms" 0 > 0 then begin
      let slot = number "slot_ms" 0. /. 1000. in
      let next = ceil ((now () -. begun) /. slot) *. slot in
      idle := !idle +. (begun +. next -. now ());
      sleep (begun +. next -. now ())
    end
    else sleep pause;
    if each && !asked < count then socket := connected ()
  done;
  let sorted = List.sort compare !waits in
  Printf.printf "{\"asked\": %d, \"idle_s\": %.3f, \"seconds\": %.3f, \"median_ms\": %.3f}\n%!" !asked !idle (now () -. begun)
    (1000. *. List.nth sorted (List.length sorted / 2))

(* Messages at times of their own, either way. *)
let tell socket =
  let content = Bytes.make 65536 'e' and begun = now () and sent = ref 0 and idle = ref 0. in
  (try
     while now () -. begun < number "seconds" 5. do
       let size = whole "size" 200 in
       let octets = if whole "vary" 0 = 1 then 1 + Random.int (2 * size) else size in
       write_all socket content 0 octets;
       sent := !sent + octets;
       let pause = between "event_ms" in
       idle := !idle +. pause;
       sleep pause
     done
   with Unix.Unix_error _ -> ());
  Printf.printf "{\"sent\": %d, \"idle_s\": %.3f, \"seconds\": %.3f}\n%!" !sent !idle (now () -. begun)

let send_datagrams () =
  let socket = prepared Unix.SOCK_DGRAM in
  let size = whole "size" 200 and seconds = number "seconds" 5. and begun = now () and sent = ref 0 in
  let interval = number "interval_us" 20000. /. 1e6 and burst = whole "burst" 1 in
  let data = Bytes.make size 'd' in
  Unix.connect socket (address ());
  while now () -. begun < seconds do
    for _ = 1 to burst do
      Bytes.set_int32_be data 0 (Int32.of_int !sent);
      (try ignore (Unix.write socket data 0 size) with Unix.Unix_error _ -> ());
      incr sent
    done;
    sleep (begun +. float_of_int (!sent / burst) *. interval -. now ())
  done;
  Printf.printf "{\"datagrams\": %d, \"seconds\": %.3f}\n%!" !sent (now () -. begun)

let receive_datagrams () =
  let socket = prepared Unix.SOCK_DGRAM in
  let data = Bytes.create 65536 and count = ref 0 in
  Unix.bind socket (address ());
  ignore (Sys.signal Sys.sigterm (Sys.Signal_handle (fun _ -> Printf.printf "{\"received\": %d}\n%!" !count; exit 0)));
  while true do
    (try
       let octets, from = Unix.recvfrom socket data 0 65536 [] in
       incr count;
       if whole "answers" 0 = 1 then begin
         sleep (between "think_ms");
         ignore (Unix.sendto socket data 0 (whole "reply" octets) [] from)
       end
     with Unix.Unix_error _ -> ())
  done

(* Blocks by datagrams: one asked for, one answered; asked again after a time-out. *)
let ask_datagrams () =
  let socket = prepared Unix.SOCK_DGRAM in
  let size = whole "size" 40 and count = whole "count" 100 and begun = now () and again = ref 0 in
  let data = Bytes.make 65536 'q' and sequence = ref 0 and idle = ref 0. in
  Unix.connect socket (address ());
  Unix.setsockopt_float socket Unix.SO_RCVTIMEO (number "again_ms" 1000. /. 1000.);
  while !sequence < count && now () -. begun < number "most_s" 15. do
    Bytes.set_int32_be data 0 (Int32.of_int !sequence);
    (try
       ignore (Unix.write socket data 0 size);
       ignore (Unix.read socket data 0 65536);
       incr sequence;
       let pause = between "pause_ms" in
       idle := !idle +. pause;
       sleep pause
     with Unix.Unix_error _ -> incr again)
  done;
  Printf.printf "{\"asked\": %d, \"again\": %d, \"idle_s\": %.3f, \"seconds\": %.3f}\n%!" !sequence !again !idle (now () -. begun)

(* A name server: one address for each question for an A record, nothing for others, after a time; or none at all. *)
let name_server () =
  let socket = prepared Unix.SOCK_DGRAM in
  let data = Bytes.create 2048 and served = text "serves" "0.0.0.0" in
  Unix.bind socket (address ());
  while true do
    let octets, from = Unix.recvfrom socket data 0 2048 [] in
    if whole "deaf" 0 = 0 then begin
      sleep (number "think_ms" 0. /. 1000.);
      let kind = ref 12 in
      while Bytes.get_uint8 data !kind > 0 do kind := !kind + 1 + Bytes.get_uint8 data !kind done;
      let is_a = Bytes.get_uint16_be data (!kind + 1) = 1 and ends = !kind + 5 in
      ignore octets;
      let reply = Buffer.create 100 in
      Buffer.add_bytes reply (Bytes.sub data 0 2);
      Buffer.add_string reply ("\x81\x80\x00\x01\x00" ^ (if is_a then "\x01" else "\x00") ^ "\x00\x00\x00\x00");
      Buffer.add_bytes reply (Bytes.sub data 12 (ends - 12));
      if is_a then begin
        Buffer.add_string reply "\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x3c\x00\x04";
        List.iter (fun it -> Buffer.add_uint8 reply (int_of_string it)) (String.split_on_char '.' served)
      end;
      let answer = Buffer.to_bytes reply in
      ignore (Unix.sendto socket answer 0 (Bytes.length answer) [] from)
    end
  done

let () =
  Sys.set_signal Sys.sigpipe Sys.Signal_ignore;
  for i = 2 to Array.length Sys.argv - 1 do
    match String.index_opt Sys.argv.(i) '=' with
    | Some at -> Hashtbl.replace settings (String.sub Sys.argv.(i) 0 at) (String.sub Sys.argv.(i) (at + 1) (String.length Sys.argv.(i) - at - 1))
    | None -> failwith Sys.argv.(i)
  done;
  Random.init (whole "seed" 7);
  ignore (Unix.alarm (whole "alarm" 40));
  match Sys.argv.(1) with
  | "sink" -> each_connection (fun socket -> read_from socket max_int)
  | "serve" -> each_connection (fun socket -> write_to socket (int_of_string (String.trim (read_line socket))); Unix.shutdown socket Unix.SHUTDOWN_SEND;
                ignore (try Unix.read socket (Bytes.create 1) 0 1 with Unix.Unix_error _ -> 0))
  | "push" ->
    let socket = connected () in
    if whole "greet" 0 = 1 then ignore (read_line socket);
    write_to socket (whole "octets" 1000000);
    Unix.shutdown socket Unix.SHUTDOWN_SEND;
    ignore (try Unix.read socket (Bytes.create 1) 0 1 with Unix.Unix_error _ -> 0)
  | "fetch" ->
    for _ = 1 to whole "times" 1 do
      let socket = connected () in
      if whole "greet" 0 = 1 then ignore (read_line socket);
      let line = Bytes.of_string (Printf.sprintf "%d\n" (whole "octets" 1000000)) in
      write_all socket line 0 (Bytes.length line);
      read_from socket (whole "octets" 1000000);
      Unix.close socket;
      sleep (between "between_ms")
    done
  | "answer" -> each_connection answer
  | "ask" -> ask ()
  | "tell" -> each_connection tell
  | "hear" -> let socket = connected () in read_from socket max_int
  | "report" -> let socket = connected () in tell socket
  | "send" -> send_datagrams ()
  | "receive" -> receive_datagrams ()
  | "ask-datagrams" -> ask_datagrams ()
  | "names" -> name_server ()
  | mode -> failwith mode

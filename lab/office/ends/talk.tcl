# Messages in Tcl: tclsh talk.tcl serve PORT | tclsh talk.tcl report HOST PORT EACH_MS OCTETS COUNT
proc got {channel} {
  if {[catch {gets $channel line} n] || $n < 0} { if {[eof $channel]} { close $channel }; return }
  if {$::replies} { catch { puts $channel "ok [string length $line]"; flush $channel } }
}
proc opened {channel host port} { fconfigure $channel -blocking 0 -buffering line -translation lf; fileevent $channel readable [list got $channel] }
proc report {} {
  if {$::left <= 0} { close $::channel; puts "{\"reported\": $::count}"; exit 0 }
  incr ::left -1
  puts $::channel "[clock milliseconds] [string repeat 7 [expr {$::octets - 15}]]"
  flush $::channel
  after [expr {int($::each * (0.97 + 0.06 * rand()))}] report
}
switch [lindex $argv 0] {
  serve { set replies [lindex $argv 2]; socket -server opened [lindex $argv 1]; vwait forever }
  report {
    lassign $argv mode host port each octets count
    set left $count
    set channel [socket $host $port]
    fconfigure $channel -blocking 1 -translation lf
    fileevent $channel readable {if {[gets $channel line] < 0 && [eof $channel]} {exit 1}}
    report
    vwait forever
  }
}

# Sends a file to whoever connects: serve.tcl HOST PORT FILE
lassign $argv host port file
proc play {file to from port} {
    set it [open $file rb]
    fconfigure $to -translation binary -buffersize 16384
    fcopy $it $to -command [list apply {{it to octets {error ""}} { close $to; close $it }} $it $to]
}
socket -server [list play $file] -myaddr $host $port
vwait forever

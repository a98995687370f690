# RFC 2416 in ns-2: ns ns2.tcl PACKET_BYTES INITIAL_WINDOW TRACE_FILE
lassign $argv packet window file
set ns [new Simulator]
foreach name {source r1 r2 receiver} { set node($name) [$ns node] }
foreach {from to rate delay limit} {
    source r1 100Mb 0ms 100
    r1 r2 1.5Mb 25ms 100
    r2 receiver 9600b 150ms 3
} {
    $ns duplex-link $node($from) $node($to) $rate $delay DropTail
    $ns queue-limit $node($from) $node($to) $limit
    $ns queue-limit $node($to) $node($from) $limit
}

# The tahoe of 1998: no SYN, no limited transmit, and packets of packetSize_ bytes, headers included.
set tcp [new Agent/TCP]
set sink [new Agent/TCPSink]
$tcp set packetSize_ $packet
$tcp set useHeaders_ false
$tcp set windowInit_ $window
$tcp set syn_ false
$tcp set delay_growth_ false
$tcp set singledup_ 0
$ns attach-agent $node(source) $tcp
$ns attach-agent $node(receiver) $sink
$ns connect $tcp $sink
set source [new Application/FTP]
$source attach-agent $tcp

set trace [open $file w]
$ns trace-queue $node(r1) $node(source) $trace
$ns at 0.0 "$source start"
$ns at 9.0 "$ns flush-trace; close $trace; exit 0"
$ns run

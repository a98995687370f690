# A paper's dumbbell in ns-2: groups of flows over one congested link that runs DropTail, RED or RIO, or what -module FILE
# has (ns2_modules), with -settings as name and value. peers.py and ns2_values.py run it.
#
#   ns printed.tcl -queue red -limit 200 -red {100 200 0.1} -groups {{Reno 32} {CBR 1 2e6}} -seed 1
#
# TCP is as ns-2 2.35 has it by default, but for what is set below and by -senders, names and values. Rates are in bit/s, times in seconds, queues in
# packets. A group is {KIND COUNT RATE DELAY SIZE}: RATE is that of CBR, DELAY that of each of its four access links (1ms where it is left out), SIZE
# that of its packets (1000). RIO judges by -red what is OUT, and by -in what is IN: all flows but those of the first group, which have the
# higher priority as well. One JSON line is printed: bytes that left the network per flow, and bytes acknowledged, while
# it was measured.

array set cfg {
    -queue red  -limit 200  -red {100 200 0.1}  -in {150 250 0.01}  -gentle 0  -groups {}
    -module {}  -settings {}  -senders {}
    -access 10mb  -window 500  -min_rto 1  -duration 300  -warm_up 60  -seed 1
}
foreach {name value} $argv {
    if {![info exists cfg($name)]} { puts stderr "printed.tcl: no option $name: [array names cfg]"; exit 2 }
    set cfg($name) $value
}

remove-all-packet-headers
add-packet-header Common Flags IP TCP RTP
Agent/TCP set packetSize_ 1000
Agent/TCP set useHeaders_ false
Agent/TCP set window_ $cfg(-window)
Agent/TCP set minrto_ $cfg(-min_rto)
foreach {name value} $cfg(-senders) { Agent/TCP set $name $value }
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set setbit_ false
Queue/RED set adaptive_ 0
Queue/RED set wait_ 0
Queue/RED set q_weight_ 0.002
Queue/RED set mean_pktsize_ 1000
Queue/RED set gentle_ $cfg(-gentle)
foreach {low high max_p} $cfg(-red) {}
Queue/RED set thresh_ $low
Queue/RED set maxthresh_ $high
Queue/RED set linterm_ [expr {1.0 / $max_p}]
# RIO has settings of its own, and those of RED for the weight and the probability of OUT.
foreach name {q_weight_ wait_ gentle_ bytes_ queue_in_bytes_ setbit_ mean_pktsize_ linterm_} {
    Queue/RED/RIO set $name [Queue/RED set $name]
}
Queue/RED/RIO set out_thresh_ $low
Queue/RED/RIO set out_maxthresh_ $high
foreach {low high max_p} $cfg(-in) {}
Queue/RED/RIO set in_thresh_ $low
Queue/RED/RIO set in_maxthresh_ $high
Queue/RED/RIO set in_linterm_ [expr {1.0 / $max_p}]
# A flow id other than 0 says IN.
Queue/RED/RIO set priority_method_ 1

set ns [new Simulator]
$defaultRNG seed $cfg(-seed)
set left [$ns node]
set right [$ns node]

# ns-2's DropTail holds one packet less than its limit.
proc link {from to rate kind limit {delay 1ms}} {
    global ns
    $ns simplex-link $from $to $rate $delay $kind
    $ns queue-limit $from $to [expr {$limit + ($kind eq "DropTail")}]
}

array set kinds {droptail DropTail red RED rio RED/RIO}
if {$cfg(-module) ne ""} {
    load $cfg(-module) Fairdrop
    source [file join [file dirname $cfg(-module)] defaults.tcl]
    set kinds($cfg(-queue)) $cfg(-queue)
    foreach {name value} $cfg(-settings) { Queue/$cfg(-queue) set $name $value }
}
link $left $right 1mb $kinds($cfg(-queue)) $cfg(-limit)
link $right $left 1mb DropTail 1000

proc agents {kind rate size} {
    if {$kind eq "CBR"} {
        set source [new Agent/UDP]
        $source set packetSize_ $size
        set application [new Application/Traffic/CBR]
        $application set packetSize_ $size
        $application set rate_ $rate
        $application attach-agent $source
        return [list $source [new Agent/Null] $application]
    }
    set source [new Agent/TCP/$kind]
    $source set packetSize_ $size
    set application [new Application/FTP]
    $application attach-agent $source
    return [list $source [new Agent/TCPSink[expr {$kind eq "Sack1" ? "/Sack1" : ""}]] $application]
}

set flows {}
foreach group $cfg(-groups) {
    foreach {kind count rate delay size} [concat $group [lrange {0 1ms 1000} [expr {[llength $group] - 2}] end]] {}
    set number [llength [lsort -unique $flows]]
    for {set i 0} {$i < $count} {incr i} {
        foreach {source sink application} [agents $kind $rate $size] {}
        set near [$ns node]
        set far [$ns node]
        foreach {from to} [list $near $left $left $near $right $far $far $right] { link $from $to $cfg(-access) DropTail 1000 $delay }
        $ns attach-agent $near $source
        $ns attach-agent $far $sink
        $ns connect $source $sink
        $source set fid_ [expr {$number > 0}]
        $source set prio_ [expr {$number > 0}]
        $ns at [$defaultRNG uniform 0 1] "$application start"
        lappend flows $number
        lappend exits [$ns monitor-queue $right $far ""]
        lappend senders [expr {$kind eq "CBR" ? "" : $source}]
    }
}

proc counters {} {
    global exits senders
    foreach exit $exits sender $senders {
        lappend found [$exit set bdepartures_] [expr {$sender eq "" ? 0 : 1000 * [$sender set ack_]}]
    }
    return $found
}

proc finish {} {
    global flows before
    foreach group $flows {left acked} [counters] {was_left was_acked} $before {
        set bytes "\"bytes\": [format %.0f [expr {$left - $was_left}]]"
        lappend rows "{\"group\": $group, $bytes, \"acked\": [expr {$acked - $was_acked}]}"
    }
    puts "\[[join $rows ", "]\]"
    exit 0
}

$ns at $cfg(-warm_up) {set before [counters]}
$ns at $cfg(-duration) finish
$ns run

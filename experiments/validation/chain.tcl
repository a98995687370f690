# Figure 7 of the CHOKe paper in ns-2, with the module of ns2_modules: five routers, CHOKe on each link between them; TCP and
# one UDP flow enter at the first and leave where -groups says. ns2_values.py runs it.
#
#   ns chain.tcl -module FILE -groups {{Reno 5 3} {Reno 10 4} {Reno 10 5} {CBR 1 5}} -log FILE -seed 1
#
# A group is {KIND COUNT ROUTER}. The log is of arrivals at the link from the third to the fourth router, by flow, numbered from 1. One JSON
# line is printed: bytes that left the network per flow while it was measured.

array set cfg {
    -groups {}  -module {}  -settings {}  -senders {}  -log {}
    -limit 300  -window 300  -min_rto 0.2  -udp_rate 2e6  -duration 300  -warm_up 60  -seed 1
}
foreach {name value} $argv {
    if {![info exists cfg($name)]} { puts stderr "chain.tcl: no option $name: [array names cfg]"; exit 2 }
    set cfg($name) $value
}

remove-all-packet-headers
add-packet-header Common Flags IP TCP RTP
Agent/TCP set packetSize_ 1000
Agent/TCP set useHeaders_ false
Agent/TCP set window_ $cfg(-window)
Agent/TCP set minrto_ $cfg(-min_rto)
foreach {name value} $cfg(-senders) { Agent/TCP set $name $value }

set ns [new Simulator]
$defaultRNG seed $cfg(-seed)
load $cfg(-module) Fairdrop
source [file join [file dirname $cfg(-module)] defaults.tcl]
foreach {name value} $cfg(-settings) { Queue/CHOKe set $name $value }

proc link {from to rate kind limit} {
    global ns
    $ns simplex-link $from $to $rate 1ms $kind
    $ns queue-limit $from $to $limit
}

for {set at 1} {$at <= 5} {incr at} { set router($at) [$ns node] }
foreach at {1 2 3 4} rate {10mb 2mb 1mb 10mb} {
    link $router($at) $router([expr {$at + 1}]) $rate CHOKe $cfg(-limit)
    link $router([expr {$at + 1}]) $router($at) $rate DropTail 1000
}
if {$cfg(-log) ne ""} { [[$ns link $router(3) $router(4)] queue] log $cfg(-log) }

proc agents {kind} {
    global cfg
    if {$kind eq "CBR"} {
        set source [new Agent/UDP]
        $source set packetSize_ 1000
        set application [new Application/Traffic/CBR]
        $application set packetSize_ 1000
        $application set rate_ $cfg(-udp_rate)
        $application attach-agent $source
        return [list $source [new Agent/Null] $application]
    }
    set source [new Agent/TCP/$kind]
    set application [new Application/FTP]
    $application attach-agent $source
    return [list $source [new Agent/TCPSink] $application]
}

foreach group $cfg(-groups) {
    foreach {kind count last} $group {}
    for {set i 0} {$i < $count} {incr i} {
        foreach {source sink application} [agents $kind] {}
        set near [$ns node]
        set far [$ns node]
        foreach {from to} [list $near $router(1) $router(1) $near $router($last) $far $far $router($last)] {
            link $from $to 10mb DropTail 1000
        }
        $ns attach-agent $near $source
        $ns attach-agent $far $sink
        $ns connect $source $sink
        lappend exits [$ns monitor-queue $router($last) $far ""]
        $source set fid_ [llength $exits]
        $ns at [$defaultRNG uniform 0 1] "$application start"
    }
}

proc counters {} {
    global exits
    foreach exit $exits { lappend found [$exit set bdepartures_] }
    return $found
}

proc finish {} {
    global before
    foreach left [counters] was $before { lappend bytes [format %.0f [expr {$left - $was}]] }
    puts "\[[join $bytes ", "]\]"
    exit 0
}

$ns at $cfg(-warm_up) {set before [counters]}
$ns at $cfg(-duration) finish
$ns run

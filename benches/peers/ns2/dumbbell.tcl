# ns-2 peer of the scenario "choke-fig3": a dumbbell with infinite TCP transfers and
# constant-rate UDP over one congested link that runs RED or DropTail.
#
#   ns dumbbell.tcl -queue red -duration 500 -seed 1
#   ns dumbbell.tcl -queue red -setup_only 1            (build everything, run 0 s)
#   ns dumbbell.tcl -queue droptail -measure 2
#
# Rates are in bit/s, times in seconds, sizes in bytes, queue lengths in packets.
# One JSON line is printed on stdout. No trace files are written.

proc defaults {} {
    return {
        -queue       red      -duration  300    -warm_up    60
        -seed        1        -measure   1      -setup_only 0
        -tcp_flows   32       -udp_flows 1      -udp_rate   2e6    -udp_random 0
        -rate        1e6      -delay     0.001
        -access_rate 10e6     -access_delay 0.001   -access_limit 1000
        -packet_size 1000     -ack_size  40
        -limit       300      -min_th    100    -max_th     200
        -weight      0.002    -max_p     0.1    -gentle     0    -wait 0
        -use_mark_p  1
        -window      300      -initial_window 1 -tick       0.1
        -min_rto     0.2      -max_rto   64     -initial_rto 6   -rfc2988 0
        -size_step   0        -timerfix    1        -singledup 0      -syn       0      -precision 0
        -start_spread 1       -overhead  0      -scheduler  Splay  -tcp Reno
        -trace       {}       -hosts     0      -udp_packet_size 0  -high 0
        -module      {}       -settings  {}     -log       {}
    }
}

proc usage {message} {
    puts stderr "dumbbell.tcl: $message"
    puts stderr "options, with their defaults:"
    foreach {name value} [defaults] {
        puts stderr [format "  %-16s %s" $name $value]
    }
    exit 2
}

proc parse {arguments} {
    global cfg
    array set cfg [defaults]
    if {[llength $arguments] % 2} { usage "options come as pairs: -name value" }
    foreach {name value} $arguments {
        if {![info exists cfg($name)]} { usage "unknown option $name" }
        set cfg($name) $value
    }
    foreach name [array names cfg] {
        if {$name in {-queue -scheduler -tcp -trace -module -settings -log}} { continue }
        if {![string is double -strict $cfg($name)] || $cfg($name) < 0} {
            usage "$name takes a number that is not negative, not \"$cfg($name)\""
        }
    }
    check_choices
}

proc check_choices {} {
    global cfg
    # With -module, -queue is one of its kinds.
    if {$cfg(-module) eq "" && $cfg(-queue) ni {red droptail}} { usage "-queue is one of: red droptail" }
    foreach {name choices} {
        -scheduler {Calendar Heap List Splay}
        -measure {0 1 2}  -setup_only {0 1}  -gentle {0 1}  -wait {0 1}  -rfc2988 {0 1}  -use_mark_p {0 1}
        -udp_random {0 1}  -timerfix {0 1}  -singledup {0 1}  -syn {0 1}  -precision {0 1}
        -tcp {Tahoe Reno Newreno Sack1 Vegas}
    } {
        if {[lsearch -exact $choices $cfg($name)] < 0} {
            usage "$name is one of: $choices"
        }
    }
    foreach name {-tcp_flows -udp_flows -limit -access_limit -seed -hosts -high} {
        if {![string is integer -strict $cfg($name)]} { usage "$name takes an integer" }
    }
    if {$cfg(-warm_up) >= $cfg(-duration) && !$cfg(-setup_only)} {
        usage "-warm_up must be shorter than -duration"
    }
    # The byte counters of sinks are C ints.
    if {$cfg(-measure) == 1 && $cfg(-duration) * $cfg(-rate) / 8 >= 2147483648.0} {
        usage "-measure 1 counts up to 2 GiB per flow: shorten -duration or use -measure 2"
    }
}

# Every header that is left in costs memory traffic per packet. RTP stays because the UDP
# agent writes its sequence number there.
proc lean_packets {} {
    remove-all-packet-headers
    add-packet-header Common Flags IP TCP RTP
}

proc configure_tcp {} {
    global cfg
    Agent/TCP set packetSize_ $cfg(-packet_size)
    Agent/TCP set window_ $cfg(-window)
    Agent/TCP set windowInit_ $cfg(-initial_window)
    Agent/TCP set windowInitOption_ 1
    Agent/TCP set tcpTick_ $cfg(-tick)
    Agent/TCP set minrto_ $cfg(-min_rto)
    Agent/TCP set maxrto_ $cfg(-max_rto)
    Agent/TCP set rtxcur_init_ $cfg(-initial_rto)
    Agent/TCP set rfc2988_ $cfg(-rfc2988)
    Agent/TCP set syn_ $cfg(-syn)
    Agent/TCP set delay_growth_ $cfg(-syn)
    Agent/TCP set timerfix_ $cfg(-timerfix)
    Agent/TCP set overhead_ $cfg(-overhead)
    # Without, windows are halved in whole packets, as ns-2 did until 2006.
    Agent/TCP set precisionReduce_ $cfg(-precision)
    Agent/TCP set singledup_ $cfg(-singledup)
    Agent/TCP set useHeaders_ false
    Agent/TCP set ecn_ 0
    Agent/TCP set timestamps_ false
    Agent/TCPSink set packetSize_ $cfg(-ack_size)
}

proc configure_red {} {
    global cfg
    Queue set limit_ $cfg(-access_limit)
    Queue/RED set thresh_ $cfg(-min_th)
    Queue/RED set maxthresh_ $cfg(-max_th)
    Queue/RED set q_weight_ $cfg(-weight)
    Queue/RED set linterm_ [expr {$cfg(-max_p) > 0 ? 1.0 / $cfg(-max_p) : 1e30}]
    Queue/RED set gentle_ $cfg(-gentle)
    Queue/RED set wait_ $cfg(-wait)
    Queue/RED set bytes_ false
    Queue/RED set queue_in_bytes_ false
    Queue/RED set mean_pktsize_ $cfg(-packet_size)
    Queue/RED set setbit_ false
    Queue/RED set drop_tail_ true
    Queue/RED set use_mark_p_ $cfg(-use_mark_p)
    Queue/RED set adaptive_ 0
}

# ns-2's DropTail refuses a packet when length + 1 >= limit_, so it holds limit_ - 1;
# RED refuses when length >= limit_. One more makes both hold the same number.
proc droptail_limit {packets} { return [expr {$packets + 1}] }

proc one_way {from to rate delay type limit} {
    global ns
    $ns simplex-link $from $to $rate $delay $type
    $ns queue-limit $from $to $limit
}

proc access_link {from to} {
    global ns cfg
    set limit [droptail_limit $cfg(-access_limit)]
    one_way $from $to $cfg(-access_rate) $cfg(-access_delay) DropTail $limit
    one_way $to $from $cfg(-access_rate) $cfg(-access_delay) DropTail $limit
}

# -module FILE: kinds of queues that are built apart (experiments/validation/ns2_modules), with -settings as name and
# value. -log FILE: what becomes of each packet that comes to the congested queue.
proc load_module {} {
    global cfg
    load $cfg(-module) Fairdrop
    source [file join [file dirname $cfg(-module)] defaults.tcl]
    foreach {name value} $cfg(-settings) { Queue/$cfg(-queue) set $name $value }
}

proc build_bottleneck {} {
    global ns cfg left right
    set left [$ns node]
    set right [$ns node]
    if {$cfg(-module) ne ""} {
        one_way $left $right $cfg(-rate) $cfg(-delay) $cfg(-queue) $cfg(-limit)
        if {$cfg(-log) ne ""} { [[$ns link $left $right] queue] log $cfg(-log) }
    } elseif {$cfg(-queue) eq "red"} {
        one_way $left $right $cfg(-rate) $cfg(-delay) RED $cfg(-limit)
    } else {
        one_way $left $right $cfg(-rate) $cfg(-delay) DropTail [droptail_limit $cfg(-limit)]
    }
    one_way $right $left $cfg(-rate) $cfg(-delay) DropTail [droptail_limit $cfg(-access_limit)]
}

proc tcp_flow {source sink} {
    global ns cfg id
    set sender [new Agent/TCP[expr {$cfg(-tcp) eq "Tahoe" ? "" : "/$cfg(-tcp)"}]]
    set receiver [new Agent/TCPSink[expr {$cfg(-tcp) eq "Sack1" ? "/Sack1" : ""}]]
    $sender set packetSize_ [expr {int($cfg(-packet_size) + $id * $cfg(-size_step))}]
    $ns attach-agent $source $sender
    $ns attach-agent $sink $receiver
    $ns connect $sender $receiver
    set application [new Application/FTP]
    $application attach-agent $sender
    return [list $sender $receiver $application]
}

proc udp_flow {source sink} {
    global ns cfg
    set size [expr {$cfg(-udp_packet_size) > 0 ? $cfg(-udp_packet_size) : $cfg(-packet_size)}]
    set sender [new Agent/UDP]
    $sender set packetSize_ $size
    if {$cfg(-measure) == 1} {
        set receiver [new Agent/LossMonitor]
    } else {
        set receiver [new Agent/Null]
    }
    $ns attach-agent $source $sender
    $ns attach-agent $sink $receiver
    $ns connect $sender $receiver
    set application [new Application/Traffic/CBR]
    $application set packetSize_ $size
    $application set rate_ $cfg(-udp_rate)
    $application set random_ $cfg(-udp_random)
    $application attach-agent $sender
    return [list $sender $receiver $application]
}

# The source and the sink of a flow: its own, or with -hosts N those that every Nth flow has.
proc hosts_of {id} {
    global ns cfg left right pairs
    set pair [expr {$cfg(-hosts) > 0 ? $id % $cfg(-hosts) : $id}]
    if {![info exists pairs($pair)]} {
        set pairs($pair) [list [$ns node] [$ns node]]
        access_link [lindex $pairs($pair) 0] $left
        access_link $right [lindex $pairs($pair) 1]
    }
    return $pairs($pair)
}

proc build_flow {id kind} {
    global ns cfg left right receivers starts
    foreach {source sink} [hosts_of $id] {}
    foreach {sender receiver application} [${kind}_flow $source $sink] {}
    $sender set fid_ $id
    # -high N: the first N flows have the higher priority.
    $sender set prio_ [expr {$id <= $cfg(-high)}]
    set receivers($id) $receiver
    # A whole number of nanoseconds.
    set start [format %.9f [expr {[$::defaultRNG uniform 0 1] * $cfg(-start_spread)}]]
    set starts($id) $start
    $ns at $start "$application start"
    if {$cfg(-measure) == 2} { monitor_flow $id $source $sink }
}

# -measure 2 only: exact wire bytes of each flow's own exit link and drops of its access
# link. Queue monitors add objects to the path of every packet, so never use this for timing.
proc monitor_flow {id source sink} {
    global ns left right exits accesses
    set exits($id) [$ns monitor-queue $right $sink ""]
    set accesses($id) [$ns monitor-queue $source $left ""]
}

proc counter {id} {
    global cfg exits receivers
    if {$cfg(-measure) == 2} { return [$exits($id) set bdepartures_] }
    return [$receivers($id) set bytes_]
}

proc read_counters {into} {
    global flows cfg
    upvar #0 $into values
    if {$cfg(-measure) == 0} { return }
    foreach id $flows { set values($id) [counter $id] }
}

proc kind_of {id} {
    global cfg
    return [expr {$id <= $cfg(-tcp_flows) ? "tcp" : "udp"}]
}

proc measured {} {
    global cfg flows at_warm_up at_end
    set total(tcp) 0.0
    set total(udp) 0.0
    set rows {}
    foreach id $flows {
        set bytes [expr {$at_end($id) - $at_warm_up($id)}]
        set kind [kind_of $id]
        set total($kind) [expr {$total($kind) + $bytes}]
        lappend rows [format {{"flow": %d, "kind": "%s", "bytes": %.0f}} $id $kind $bytes]
    }
    set sum [expr {$total(tcp) + $total(udp)}]
    set share [expr {$sum > 0 ? $total(udp) / $sum : 0.0}]
    set seconds [expr {$cfg(-duration) - $cfg(-warm_up)}]
    set use [expr {$sum * 8.0 / $seconds / $cfg(-rate)}]
    return [format {"bytes": %.0f, "udp_share": %.6f, "utilisation": %.6f, "flows": [%s]} \
        $sum $share $use [join $rows ", "]]
}

proc access_drops {} {
    global flows accesses cfg
    if {$cfg(-measure) != 2} { return "null" }
    set drops 0
    foreach id $flows {
        set drops [expr {$drops + [$accesses($id) set pdrops_]}]
    }
    return [format "%.0f" $drops]
}

# -trace FILE: every packet that comes to the congested queue, leaves or is dropped, for a comparison packet by packet.
proc trace_queue {} {
    global ns cfg left right trace_file
    set trace_file [open $cfg(-trace) w]
    $ns trace-queue $left $right $trace_file
}

# How much of a tick each TCP's clock will be old at time 0. `run` resets the nodes in the order of a table, and each
# agent then takes the next random number; so they are known beforehand.
proc ticks {} {
    global ns cfg
    $::defaultRNG seed $cfg(-seed)
    foreach node [$ns array names Node_] {
        # 0 and 1 are the routers; then come a source and a sink for each flow.
        if {$node >= 2 && $node % 2 == 0 && $node / 2 <= $cfg(-tcp_flows)} {
            set tick([expr {$node / 2}]) [format %.9f [$::defaultRNG uniform 0 1]]
        }
    }
    $::defaultRNG seed $cfg(-seed)
    for {set id 1} {$id <= $cfg(-tcp_flows)} {incr id} { lappend found $tick($id) }
    return $found
}

# What a second simulator needs to send the same packets.
proc drawn {} {
    global cfg flows starts ticks trace_file
    if {$cfg(-trace) eq "" && $cfg(-log) eq ""} { return "" }
    if {$cfg(-trace) ne ""} { close $trace_file }
    foreach id $flows { lappend all $starts($id) }
    return ", \"starts_s\": \[[join $all ", "]\], \"ticks\": \[[join $ticks ", "]\]"
}

proc finish {} {
    global ns cfg
    set head [format {"tool": "ns-2", "queue": "%s", "seed": %d, "now_s": %.6f} \
        $cfg(-queue) $cfg(-seed) [$ns now]]
    set shape [format {"tcp_flows": %d, "udp_flows": %d, "warm_up_s": %s, "measure": %d} \
        $cfg(-tcp_flows) $cfg(-udp_flows) $cfg(-warm_up) $cfg(-measure)]
    if {$cfg(-setup_only) || $cfg(-measure) == 0} {
        puts "{$head, $shape}"
    } else {
        read_counters at_end
        puts "{$head, $shape, \"access_drops\": [access_drops], [measured][drawn]}"
    }
    exit 0
}

parse $argv
lean_packets
configure_tcp
configure_red
if {$cfg(-module) ne ""} { load_module }
set ns [new Simulator]
$ns use-scheduler $cfg(-scheduler)
$defaultRNG seed $cfg(-seed)
build_bottleneck
if {$cfg(-trace) ne ""} { trace_queue }
set flows {}
for {set id 1} {$id <= $cfg(-tcp_flows) + $cfg(-udp_flows)} {incr id} {
    lappend flows $id
    build_flow $id [kind_of $id]
}
if {$cfg(-setup_only)} {
    $ns at 0.0 finish
} else {
    $ns at $cfg(-warm_up) "read_counters at_warm_up"
    $ns at $cfg(-duration) finish
}
if {$cfg(-trace) ne "" || $cfg(-log) ne ""} { set ticks [ticks] }
$ns run

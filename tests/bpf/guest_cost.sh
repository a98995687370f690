# Runs in the guest, in virtual time: instructions for a packet under each qdisc. The kernel's packet generator hands packets of 32 flows to a
# device that takes each at once; LINK is none, or the shaper's words. Lines that begin with COST are read by scripts/qdisc_lab.py.
fairdropd() { /bin/fairdropd qdisc --objects /objects "$@"; }
P=/proc/net/pktgen
ip link add d0 type dummy
ip addr add 10.7.0.1/24 dev d0
ip link set d0 up
ip neigh add 10.7.0.2 lladdr 02:00:00:00:00:02 dev d0
echo rem_device_all >$P/kpktgend_0
echo "add_device d0" >$P/kpktgend_0
for word in "count 0" "pkt_size 1000" "xmit_mode queue_xmit" "dst 10.7.0.2" "dst_mac 02:00:00:00:00:02" "udp_src_min 1" "udp_src_max 33" \
    "flag UDPSRC_RND" "delay 0"; do
    echo "$word" >$P/d0
done

# Packets for a second of virtual time; the first fifth of it fills the queue and settles the average.
measure() {
    echo start >$P/pgctrl &
    generator=$!
    sleep 1.2
    echo stop >$P/pgctrl
    wait $generator
    set -- "$1" $(sed -n 's/.*pkts-sofar: \([0-9]*\)  errors: \([0-9]*\).*/\1 \2/p; s/^Result: [A-Z]*: \([0-9]*\)(.*/\1/p' $P/d0 | tr '\n' ' ')
    [ "$1" = warm ] || echo "COST $1 $2 $3 $4"
}

red="limit 300000 min 30000 max 90000 avpkt 1000 burst 55 probability 0.02 bandwidth 10mbit"
choke="limit 300 min 30 max 90 burst 55 probability 0.02 bandwidth 10mbit"
# The first run pays for what all others find done.
sleep 2
measure warm
measure warm
for name in pfifo choke red sfb fq_codel; do
    eval "options=\${$name-}"
    [ $name = pfifo ] && options="limit 300"
    tc qdisc add dev d0 root $name $options && measure "kernel/$name/none"
    tc qdisc del dev d0 root
    tc qdisc add dev d0 root handle 1: tbf rate 10mbit burst 2000 limit 1000000
    tc qdisc add dev d0 parent 1:1 $name $options && measure "kernel/$name/tbf"
    tc qdisc del dev d0 root
    tc qdisc add dev d0 root handle 1: htb default 1
    tc class add dev d0 parent 1: classid 1:1 htb rate 10mbit burst 2000
    tc qdisc add dev d0 parent 1:1 $name $options && measure "kernel/$name/htb"
    tc qdisc del dev d0 root
done
for name in red choke chokew ward collar; do
    eval "options=\${$name-limit 300}"
    fairdropd add dev d0 root $name $options 2>/dev/null && measure "bpf/$name/none"
    fairdropd replace dev d0 root $name $options rate 10mbit 2>/dev/null && measure "bpf/$name/rate"
    fairdropd show -s dev d0
    fairdropd del dev d0 root
done
echo "KERNEL $(uname -r)"

# Runs in the guest after guest_network.sh: 32 TCP flows and UDP below the kernel's FQ-CoDel on 1 Mb/s, and probes in the kernel's loss
# recovery. Lines of the trace are read by experiments/kernel_shares/leak.py.
ip netns exec dst tc qdisc add dev far root netem delay 6ms limit 10000
tc qdisc add dev near root handle 1: htb default 1
tc class add dev near parent 1: classid 1:1 htb rate 1mbit burst 1514 cburst 1514
tc qdisc add dev near parent 1:1 fq_codel limit 300
mount -t tracefs trace /sys/kernel/tracing
cd /sys/kernel/tracing
# Registers of the calling convention; byte 0x36 of a buffer of TCP says what is known of its segment (`TCP_SKB_CB(skb)->sacked`).
cat >kprobe_events <<EOF || echo "FAILED probes"
p:timeout tcp_enter_loss sk=%di
p:mark tcp_mark_skb_lost sk=%di state=+0x36(%si):u8
p:look tcp_rack_skb_timeout sk=%di retrans_out=tp->retrans_out
EOF
echo 60000 >buffer_size_kb
echo 1 >events/kprobes/enable
flows 32 1000 8 12 &
sleep 19
echo 0 >tracing_on
grep -E 'timeout:|mark:|look:' trace
wait
echo "KERNEL $(uname -r)"

# Runs in the guest after guest_network.sh: every program is loaded, has four TCP flows and UDP over 1 Mb/s for 4 s, is changed 1000 times under
# as much traffic, shows its counters beside the kernel's own, and is deleted. Lines that begin with a word in capitals are read by
# scripts/qdisc_kernels.py.
RED="avpkt 1014 probability 0.02 burst 150 bandwidth 1mbit"
CHANGES=1000
ip netns exec dst tc qdisc add dev far root netem delay 6ms limit 10000
skbs() { grep -E '^skbuff_head_cache|^skbuff_fclone_cache' /proc/slabinfo | tr -s ' ' | cut -d' ' -f1,2 | tr '\n' ' '; }

flows 4 2000 1 1
echo "SKBS before $(skbs)"
for words in "red limit 300p min 30p max 90p $RED" "choke limit 300 min 30 max 90 $RED" "chokew limit 300 weights 1" "ward limit 300" "collar limit 300"; do
    name=${words%% *}
    begin=$(cut -d' ' -f1 /proc/uptime)
    fairdropd add dev near root $words rate 1mbit || { echo "FAILED add $name"; continue; }
    echo "LOADED $name $begin $(cut -d' ' -f1 /proc/uptime)"
    echo "VERIFIED $name $(verified)"
    flows 4 2000 1 3

    flows 4 2000 1 600 >/dev/null &
    traffic=$!
    round=0
    while [ $round -lt $CHANGES ] && fairdropd change dev near root $name limit $((200 + round % 2 * 100))p; do
        round=$((round + 1))
    done
    kill $traffic
    wait
    echo "CHANGED $name $round"
    [ $round = $CHANGES ] || echo "FAILED change $name"
    sleep 4
    echo "STATE $name"
    echo "FAIRDROPD $(fairdropd show -j dev near)"
    echo "TC $(tc -s -j qdisc show dev near root)"
    fairdropd del dev near root || echo "FAILED delete $name"
done
sleep 1
echo "SKBS after $(skbs)"
dmesg | grep -E 'WARNING|BUG|refcount' && echo "FAILED warnings"
echo "KERNEL $(uname -r)"

# Runs in the guest after guest_network.sh: every program is loaded, has four TCP flows and UDP over 1 Mb/s for 4 s, shows its counters beside
# the kernel's own, and is deleted.
RED="avpkt 1014 probability 0.02 burst 150 bandwidth 1mbit"
ip netns exec dst tc qdisc add dev far root netem delay 6ms limit 10000
for words in "red limit 300p min 30p max 90p $RED" "choke limit 300 min 30 max 90 $RED" "chokew limit 300 weights 1" "ward limit 300" "collar limit 300"; do
    name=${words%% *}
    begin=$(cut -d' ' -f1 /proc/uptime)
    fairdropd add dev near root $words rate 1mbit || { echo "FAILED add $name"; continue; }
    echo "LOADED $name $begin $(cut -d' ' -f1 /proc/uptime)"
    flows 4 2000 1 3
    sleep 4
    echo "STATE $name"
    echo "FAIRDROPD $(fairdropd show -j dev near)"
    echo "TC $(tc -s -j qdisc show dev near root)"
    fairdropd del dev near root || echo "FAILED delete $name"
done
dmesg | grep -E 'WARNING|BUG|refcount' && echo "FAILED warnings"
echo "KERNEL $(uname -r)"

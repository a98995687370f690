# The network of guest_shares.sh, guest_loads.sh and guest_kernels.sh, one of which follows: hosts src and dst, and a router between them whose link to dst is `near`.
fairdropd() { /bin/fairdropd qdisc --objects /objects "$@"; }
for name in src dst; do ip netns add $name; done
ip link add left type veth peer name s0 netns src
ip link add near type veth peer name far netns dst
ip addr add 10.8.0.1/24 dev left
ip addr add 10.9.0.1/24 dev near
ip link set left up
# Packets are counted one by one: none are joined.
ip link set near gso_max_segs 1 up
echo 1 >/proc/sys/net/ipv4/ip_forward
ip netns exec src sh -c 'ip addr add 10.8.0.2/24 dev s0; ip link set s0 gso_max_segs 1 up; ip link set lo up; ip route add default via 10.8.0.1'
ip netns exec dst sh -c 'ip addr add 10.9.0.2/24 dev far; ip link set far up; ip link set lo up; ip route add default via 10.9.0.1'
# The hosts are another machine than the router: a socket's hash, which stays with its packets here, does not change after a timeout.
ip netns exec src sh -c 'echo 0 >/proc/sys/net/core/txrehash'

# What the modules have where a script sets nothing: what fairdrop has by default.

foreach kind {CHOKe CHOKeW WARD} {
    # Above 0: the random numbers of fairdrop under this seed. Otherwise ns-2's.
    Queue/$kind set seed_ 0
}
foreach {name value} {
    thresh_ 100  maxthresh_ 200  max_p_ 0.1  q_weight_ 0.002  packets_per_s_ 125.0  gentle_ 0  wait_ 0  independent_ 0
    candidates_ 1  regions_ 0  replacement_ 0  count_matches_ 0
} {
    Queue/CHOKe set $name $value
}
foreach {name value} {
    l_th_ 100  l_minus_ 125  l_plus_ 175  p_plus_ 0.002  p_minus_ 0.001  weight0_ 1.0  weight1_ 2.0
} {
    Queue/CHOKeW set $name $value
}

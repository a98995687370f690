/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The header of a packet, of which sch_dualpi2 reads the ECN field; compiled after kernel.h and before that file. */
#ifndef DUALPI2_H
#define DUALPI2_H

#define skb_protocol(skb, skip_vlan) htons(ETH_P_IP)
#define pskb_may_pull(skb, length) true
#define skb_try_make_writable(skb, length) 0
#define ip_hdr(skb) (skb)
#define ipv4_get_dsfield(skb) ((skb)->ecn)
enum qdisc_drop_reason { QDISC_DROP_OVERLIMIT, QDISC_DROP_CONGESTED, QDISC_DROP_L4S_STEP_NON_ECN };
enum { TCQ_F_DEQUEUE_DROPS = 0x400 };

#endif

/* What a queue wants to know of a frame, and the mark that it leaves there. */
#ifndef HEADERS_H
#define HEADERS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_ether.h>
#include <rte_mbuf.h>

struct headers {
    uint8_t key[37];         /* Protocol, addresses and ports; of other frames than IP's their Ethernet header. */
    uint8_t length;          /* Of the key. */
    uint8_t address_length;  /* 0 where there are no addresses of IP. */
    uint8_t traffic_class;   /* As in IPv6: DSCP and ECN. */
};

static inline uint16_t read_16(const uint8_t *bytes) {
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

/* TCP, UDP, DCCP, SCTP, UDP-Lite. */
static inline bool has_ports(uint8_t protocol) {
    return protocol == 6 || protocol == 17 || protocol == 33 || protocol == 132 || protocol == 136;
}

/* Reads the first segment of a frame, and notes in its mbuf where the network header begins. */
static inline void headers_read(struct rte_mbuf *mbuf, struct headers *headers) {
    const uint8_t *data = rte_pktmbuf_mtod(mbuf, const uint8_t *);
    uint32_t length = rte_pktmbuf_data_len(mbuf), at = RTE_ETHER_HDR_LEN, ports = 0;
    uint16_t type = 0;
    const uint8_t *ip;

    headers->address_length = 0;
    headers->traffic_class = 0;
    if (length >= at) type = read_16(data + at - 2);
    while ((type == RTE_ETHER_TYPE_VLAN || type == RTE_ETHER_TYPE_QINQ) && length >= at + 4) {
        at += 4;
        type = read_16(data + at - 2);
    }
    mbuf->l2_len = at;
    ip = data + at;
    if (type == RTE_ETHER_TYPE_IPV4 && length >= at + 20 && ip[0] >> 4 == 4) {
        headers->traffic_class = ip[1];
        headers->address_length = 4;
        headers->key[0] = ip[9];
        memcpy(headers->key + 1, ip + 12, 8);
        /* Only the first fragment of a datagram has its ports, so that ports identify none. */
        if ((read_16(ip + 6) & 0x3fff) == 0) ports = at + (ip[0] & 15u) * 4u;
    } else if (type == RTE_ETHER_TYPE_IPV6 && length >= at + 40 && ip[0] >> 4 == 6) {
        headers->traffic_class = (uint8_t)(ip[0] << 4 | ip[1] >> 4);
        headers->address_length = 16;
        headers->key[0] = ip[6];
        memcpy(headers->key + 1, ip + 8, 32);
        ports = at + 40;
    } else {
        headers->length = (uint8_t)RTE_MIN(length, (uint32_t)RTE_ETHER_HDR_LEN);
        memcpy(headers->key, data, headers->length);
        return;
    }
    headers->length = (uint8_t)(1 + 2 * headers->address_length);
    if (ports > 0 && has_ports(headers->key[0]) && length >= ports + 4) {
        memcpy(headers->key + headers->length, data + ports, 4);
        headers->length += 4;
    }
}

/* Writes congestion experienced (RFC 3168) into the IP header of a frame that headers_read has read. */
static inline void headers_mark(struct rte_mbuf *mbuf) {
    uint8_t *ip = rte_pktmbuf_mtod_offset(mbuf, uint8_t *, mbuf->l2_len);
    if (ip[0] >> 4 == 4 && (ip[1] & 3) == 3) return;
    if (ip[0] >> 4 == 4) {
        /* RFC 1624, equation 3: the sum changes by the word that changes. */
        uint32_t sum = (uint16_t)~read_16(ip + 10) + (uint32_t)(uint16_t)~read_16(ip);
        ip[1] |= 3;
        sum += read_16(ip);
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        ip[10] = (uint8_t)(~sum >> 8);
        ip[11] = (uint8_t)~sum;
    } else {
        ip[1] |= 0x30;
    }
}

#endif

/* Forwards between the devices of DPDK, on one core, with a queue discipline of fairdrop before each of them.
 *
 *     forward EAL... -- --discipline NAME [option]... [PARAMETER=VALUE]...
 *     forward --no-huge --no-pci --vdev=net_af_packet0,iface=a --vdev=net_af_packet1,iface=b -- \
 *         --discipline choke --rate 5000000 limit=100p min_th=20p max_th=60p
 *
 * Of two ports, what comes in at one leaves at the other; of four, 0 and 1, and 2 and 3, are pairs; one port is its own.
 * Frames leave as they came, but for the mark of congestion. Nothing is allocated per packet: the queue's handle of a packet
 * is its rte_mbuf, and its memory is one block.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_prefetch.h>

#include "forward.h"

/* A transmitter that was not looked after for longer than this does not make up for it. */
#define LATEST_NS 10000000u

enum {
    DESCRIPTORS = 512,
    CACHE = 256 /* Of the pool, for this core. */
};

static volatile sig_atomic_t ending, asked;

static void on_signal(int number) {
    if (number == SIGUSR1)
        asked = 1;
    else
        ending = 1;
}

static void take_signals(void) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
}

/* Nanoseconds by the TSC since the first call. */
static uint64_t now_ns(void) {
    static uint64_t first, factor;
    if (unlikely(factor == 0)) {
        first = rte_rdtsc();
        factor = (uint64_t)(((unsigned __int128)NS_PER_S << 32) / rte_get_tsc_hz());
    }
    return (uint64_t)((unsigned __int128)(rte_rdtsc() - first) * factor >> 32);
}

/* Nanoseconds that a packet takes at a rate; what is less than one is kept in `rest` for the next. */
static uint64_t time_of(uint64_t bytes, uint64_t rate_bps, uint64_t *rest) {
    uint64_t work = bytes * 8 * (uint64_t)NS_PER_S + *rest;
    *rest = work % rate_bps;
    return work / rate_bps;
}

static uint64_t bytes_of(struct rte_mbuf *const *mbufs, unsigned from, unsigned to) {
    uint64_t bytes = 0;
    for (; from < to; ++from) bytes += rte_pktmbuf_pkt_len(mbufs[from]);
    return bytes;
}

/* Hands a burst to the device. What it does not take is freed. */
static void transmit(struct path *path, struct rte_mbuf **mbufs, unsigned count) {
    uint64_t bytes = bytes_of(mbufs, 0, count), unsent = 0;
    unsigned sent = rte_eth_tx_burst(path->out, 0, mbufs, (uint16_t)count);
    if (unlikely(sent < count)) {
        unsent = bytes_of(mbufs, sent, count);
        rte_pktmbuf_free_bulk(mbufs + sent, count - sent);
    }
    path->sent.packets += sent;
    path->sent.bytes += bytes - unsent;
    path->unsent.packets += count - sent;
    path->unsent.bytes += unsent;
}

static void send_leaving(struct path *path) {
    if (path->leaving_count > 0) transmit(path, path->leaving, path->leaving_count);
    path->leaving_count = 0;
}

/* Lets the transmitter and the timer do, each at its time, what was due until now. */
static void advance(struct path *path, const struct options *options, uint64_t now) {
    struct queue *queue = &path->queue;
    uint64_t deadline = queue_deadline(queue);
    for (;;) {
        struct rte_mbuf *mbuf;
        if (unlikely(deadline <= now && (path->idle || deadline <= path->free_at))) {
            fairdrop_tick(queue->fair, deadline);
            /* Now a shaper may give what it held back. */
            if (path->idle) path->free_at = RTE_MAX(path->free_at, deadline);
            path->idle = false;
            deadline = queue_deadline(queue);
            continue;
        }
        if (path->idle || path->free_at > now || (options->hold > 0 && queue->waiting <= options->hold)) return;
        mbuf = queue_dequeue(queue, path->free_at);
        if (mbuf == NULL) {
            path->idle = true;
            /* Or the shaper holds back from now on. */
            deadline = queue_deadline(queue);
            continue;
        }
        if (options->rate_bps > 0)
            path->free_at += time_of(rte_pktmbuf_pkt_len(mbuf), options->rate_bps, &path->rest);
        path->leaving[path->leaving_count++] = mbuf;
        if (path->leaving_count == BURST) send_leaving(path);
    }
}

static void arrive(struct path *path, struct rte_mbuf *mbuf, uint64_t now) {
    queue_enqueue(&path->queue, mbuf, now);
    if (path->idle) {
        path->idle = false;
        path->free_at = now;
    }
}

/* Receives a burst of at most `most` and looks after the transmitter; returns how many came. */
static unsigned step(struct path *path, const struct options *options, unsigned most) {
    struct rte_mbuf *mbufs[BURST];
    unsigned count = rte_eth_rx_burst(path->in, 0, mbufs, (uint16_t)most);

    for (unsigned at = 0; at < count; ++at) {
        rte_prefetch0(rte_pktmbuf_mtod(mbufs[at], void *));
        /* Devices such as af_packet take the tag out, and frames are to leave as they came. */
        if (unlikely(mbufs[at]->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED)) rte_vlan_insert(&mbufs[at]);
    }
    path->received.packets += count;
    path->received.bytes += bytes_of(mbufs, 0, count);
    if (options->kind == KIND_NONE) {
        if (count > 0) transmit(path, mbufs, count);
        return count;
    }
    if (options->offered_bps > 0) {
        for (unsigned at = 0; at < count; ++at) {
            uint64_t bytes = rte_pktmbuf_pkt_len(mbufs[at]);
            path->arrived_at += time_of(bytes, options->offered_bps, &path->arrival_rest);
            advance(path, options, path->arrived_at);
            arrive(path, mbufs[at], path->arrived_at);
            advance(path, options, path->arrived_at);
        }
    } else {
        uint64_t now = now_ns();
        if (options->rate_bps == 0)
            path->free_at = now;
        else if (unlikely(path->free_at + LATEST_NS < now))
            path->free_at = now - LATEST_NS;
        if (options->rate_bps > 0) advance(path, options, now);
        for (unsigned at = 0; at < count; ++at) arrive(path, mbufs[at], now);
        advance(path, options, now);
    }
    send_leaving(path);
    queue_free_dropped(&path->queue);
    return count;
}

static double processor_seconds(void) {
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / NS_PER_S;
}

static bool show(const struct options *options, const struct path *paths, unsigned count, double began) {
    struct duration duration = {.processor = processor_seconds() - began};
    uint64_t latest = options->offered_bps > 0 ? 0 : now_ns();
    for (unsigned at = 0; at < count; ++at) latest = RTE_MAX(latest, paths[at].arrived_at);
    duration.clock = (double)latest / NS_PER_S;
    return report(options, paths, count, duration);
}

/* Returns whether every packet is accounted for. */
static bool run(const struct options *options, struct path *paths, unsigned count) {
    uint64_t left = options->packets > 0 ? options->packets : UINT64_MAX;
    double began = processor_seconds();
    now_ns();
    while (!ending && left > 0) {
        unsigned came = 0;
        for (unsigned at = 0; at < count; ++at) {
            unsigned some = step(paths + at, options, (unsigned)RTE_MIN(left, (uint64_t)BURST));
            left -= some;
            came += some;
        }
        /* In a time of its own a device that gives nothing has no more. */
        if (options->offered_bps > 0 && came == 0) break;
        if (unlikely(asked)) {
            asked = 0;
            show(options, paths, count, began);
        }
    }
    return show(options, paths, count, began);
}

static void open_port(uint16_t port, struct rte_mempool *pool) {
    struct rte_eth_dev_info info;
    struct rte_eth_conf conf = {0};
    uint16_t receive = DESCRIPTORS, transmit = DESCRIPTORS;
    char name[RTE_ETH_NAME_MAX_LEN] = "?";
    int status;

    rte_eth_dev_get_name_by_port(port, name);
    status = rte_eth_dev_info_get(port, &info);
    if (status == 0 && info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_RSS_HASH) {
        conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH;
        conf.rx_adv_conf.rss_conf.rss_hf =
            info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_SCTP);
    }
    if (status == 0) status = rte_eth_dev_configure(port, 1, 1, &conf);
    if (status == 0) status = rte_eth_dev_adjust_nb_rx_tx_desc(port, &receive, &transmit);
    if (status == 0) status = rte_eth_rx_queue_setup(port, 0, receive, (unsigned)rte_eth_dev_socket_id(port), NULL, pool);
    if (status == 0) status = rte_eth_tx_queue_setup(port, 0, transmit, (unsigned)rte_eth_dev_socket_id(port), NULL);
    if (status == 0) status = rte_eth_dev_start(port);
    if (status != 0) fail("port %u (%s) does not start: %s", port, name, rte_strerror(-status));
    /* Frames are for hosts beyond; devices without such a mode receive them all. */
    rte_eth_promiscuous_enable(port);
}

/* Writes a UDP datagram of 46 bytes into a buffer, of a flow that its number gives. */
static void fill(struct rte_mempool *pool, void *context, void *object, unsigned number) {
    static const uint8_t frame[42] = {
        2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0,                          /* Ethernet */
        0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 0, 10, 1, 0, 1, /* IPv4 */
        0, 0, 0, 9, 0, 26, 0, 0,                                           /* UDP */
    };
    struct rte_mbuf *mbuf = object;
    uint8_t *data = (uint8_t *)mbuf->buf_addr + RTE_PKTMBUF_HEADROOM;
    uint32_t flow = number % *(const uint32_t *)context, sum = 0;
    (void)pool;
    memset(data, 0, 64);
    memcpy(data, frame, sizeof frame);
    data[27] = (uint8_t)(flow >> 16);
    data[34] = (uint8_t)(flow >> 8);
    data[35] = (uint8_t)flow;
    for (unsigned at = 14; at < 34; at += 2) sum += read_16(data + at);
    sum = (sum & 0xffff) + (sum >> 16);
    data[24] = (uint8_t)(~sum >> 8);
    data[25] = (uint8_t)~sum;
}

static struct rte_mempool *make_pool(struct options *options, unsigned ports) {
    uint64_t count = (uint64_t)ports * (options->limit + 2 * DESCRIPTORS + 4 * BURST) + 2 * CACHE;
    struct rte_mempool *pool;
    if (options->mbufs > 0) count = options->mbufs;
    pool = rte_pktmbuf_pool_create("packets", (unsigned)count, count >= 4 * CACHE ? CACHE : 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                   (int)rte_socket_id());
    if (pool == NULL)
        fail("there is no memory for %" PRIu64 " buffers: a lower limit or --mbufs takes less, EAL's option -m gives more", count);
    if (options->fill > 0) rte_mempool_obj_iter(pool, fill, &options->fill);
    return pool;
}

int main(int count, char **words) {
    static struct path paths[RTE_MAX_ETHPORTS];
    static struct options options;
    struct rte_mempool *pool;
    unsigned ports, made = 0;
    uint16_t port, ids[RTE_MAX_ETHPORTS];
    bool whole;
    int ours = 1;

    /* Ours are read before EAL takes its time and its memory. */
    while (ours < count && strcmp(words[ours], "--") != 0) ++ours;
    if (ours == count) fail("there is no --: EAL's options come before it, those of this program after it (-- --help)");
    if (fairdrop_abi_version() != FAIRDROP_ABI_VERSION) fail("compiled with the header of another version of fairdrop");
    options_read(&options, count - ours - 1, words + ours + 1);
    if (rte_eal_init(ours, words) < 0) fail("EAL does not start: %s", rte_strerror(rte_errno));

    ports = rte_eth_dev_count_avail();
    if (ports == 0 || (ports > 1 && ports % 2 != 0))
        fail("there are %u ports; valid: one, or pairs (--vdev=net_null0, for example)", ports);
    RTE_ETH_FOREACH_DEV(port) ids[made++] = port;
    pool = make_pool(&options, ports);
    for (unsigned at = 0; at < ports; ++at) {
        struct path *path = paths + at;
        open_port(ids[at], pool);
        path->in = ids[at];
        path->out = ids[ports == 1 ? at : at ^ 1];
        path->idle = true;
        queue_init(&path->queue, &options, at);
    }
    take_signals();
    fprintf(stderr, "forward: %u port(s), %s\n", ports, options.discipline);
    whole = run(&options, paths, ports);
    for (unsigned at = 0; at < ports; ++at) {
        queue_end(&paths[at].queue);
        rte_eth_dev_stop(ids[at]);
        rte_eth_dev_close(ids[at]);
    }
    if (!whole) fail("packets are missing");
    rte_eal_cleanup();
    return 0;
}

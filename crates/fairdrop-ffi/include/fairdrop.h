/* fairdrop: queue disciplines that share a link fairly without per-flow state, and their rivals.
 *
 * Generated from crates/fairdrop-ffi by `make header`; not to be edited. Licence: MIT or Apache-2.0.
 *
 * In short:
 *
 *     fairdrop_params params;
 *     fairdrop_error error;
 *     if (fairdrop_params_init(&params, "choke", 1000000, &error) < 0 ||
 *         fairdrop_params_set(&params, "limit", "100p", &error) < 0) complain(error.message);
 *     size_t size = fairdrop_size(&params, &error);              // 0: the parameters do not go together
 *     fairdrop_queue *queue = fairdrop_init(block, size, &params, &host, &error);  // NULL: see error
 *
 *     fairdrop_enqueue(queue, &packet, now_ns);                     // a packet arrives
 *     while (transmitter_is_free() && fairdrop_dequeue(queue, now_ns, &packet) == FAIRDROP_STATUS_OK)
 *         transmit(packet.cookie);
 *
 * Units are in names: _ns are nanoseconds since an origin of the caller's, len and bytes are bytes on the wire, _bps are
 * bits per second. A time that is earlier than that of the call before counts as that one.
 *
 * Memory. The library allocates nothing, and keeps nothing outside the block that fairdrop_init is given. The block must
 * stay where it is. There is nothing to close: when the queue is used no more, the block is the caller's again. Every packet
 * that is admitted comes back exactly once, from fairdrop_dequeue or through host.dropped; before the end of a queue, take what
 * waits with fairdrop_dequeue.
 *
 * Pointers must be null or valid, texts must end with NUL, and structures that are read must be initialised. Null pointers
 * are refused with FAIRDROP_STATUS_BAD_ARGUMENT; only `error` may be null, for callers who look at the return value alone.
 *
 * Threads. Calls of one queue must not overlap; different queues are independent, and may be used by different threads.
 * The library has no global state. Callbacks run in the thread that calls, must not call their queue (which is refused with
 * FAIRDROP_STATUS_REENTERED), and must return: no exception, no longjmp.
 *
 * Errors. Calls that return fairdrop_status return a value below 0 when nothing was done. fairdrop_error has the parameter
 * and a sentence that says what would be valid.
 */


#ifndef FAIRDROP_H
#define FAIRDROP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Version of this interface. A program that was compiled with another one than fairdrop_abi_version() returns must not use
// the library.
#define FAIRDROP_ABI_VERSION 4

// Version of the tables of plug-ins (fairdrop_plugin). The simulator takes those of versions 1 and 2 as well, and refuses others.
#define FAIRDROP_PLUGIN_VERSION 3

// What `admit` of a plug-in returns to let a packet in.
#define FAIRDROP_ADMIT -1

// Alignment of the block of a queue, in bytes: that of uint64_t.
#define FAIRDROP_ALIGN 8

// Bytes of the longest packet: 16 MiB, well above what offloading to network cards puts together.
#define FAIRDROP_MAX_LEN 16777216

// Most waiting packets that a decision drops for one arrival.
#define FAIRDROP_MOST_VICTIMS 32

// Id of a slot whose packet was dropped in its place, in a ring with ids beside it.
#define FAIRDROP_NO_ID 4294967295u

// Modes of bursts (fairdrop_decision_set_modes): the average once a burst, draws from the packets that waited as the burst began, RED's
// random draw as a count-down.
#define FAIRDROP_BURST_AVERAGE_ONCE 1u
#define FAIRDROP_BURST_SNAPSHOT 2u
#define FAIRDROP_BURST_COUNT_DOWN 4u

// Generators of random numbers (fairdrop_decision_set_generator): Philox4x32-10 and xoroshiro128++.
#define FAIRDROP_GENERATOR_PHILOX 0u
#define FAIRDROP_GENERATOR_XOROSHIRO 1u

// Result of a call. Below 0 nothing was done, unless the function documents otherwise.
typedef enum fairdrop_status {
    // Done.
    FAIRDROP_STATUS_OK = 0,
    // There is none: no packet, no average, no deadline.
    FAIRDROP_STATUS_NONE = 1,
    // A pointer is null, or an argument is none of the values it may have.
    FAIRDROP_STATUS_BAD_ARGUMENT = -1,
    // No discipline has that name.
    FAIRDROP_STATUS_UNKNOWN_DISCIPLINE = -2,
    // The discipline has no parameter of that name, or two.
    FAIRDROP_STATUS_UNKNOWN_PARAMETER = -3,
    // The value is of another kind, or out of range, or does not go with the others.
    FAIRDROP_STATUS_BAD_VALUE = -4,
    // The block is smaller than `fairdrop_size` requires.
    FAIRDROP_STATUS_NO_ROOM = -5,
    // The block is not aligned to `FAIRDROP_ALIGN`.
    FAIRDROP_STATUS_MISALIGNED = -6,
    // This was not made by `fairdrop_params_init` or `fairdrop_init`.
    FAIRDROP_STATUS_NOT_READY = -7,
    // A callback called the queue that called it.
    FAIRDROP_STATUS_REENTERED = -8,
    // The discipline does not do this.
    FAIRDROP_STATUS_UNSUPPORTED = -9,
} fairdrop_status;

// Cause of a drop. Every arrival ends admitted or in exactly one of these; a queued packet may be dropped
// later.
enum fairdrop_cause
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // The buffer was full; the arriving packet is dropped.
    FAIRDROP_CAUSE_OVERFLOW = 0,
    // RED dropped the arriving packet at random.
    FAIRDROP_CAUSE_RED_EARLY = 1,
    // RED's average was at or above `max_th` (or above the gentle region).
    FAIRDROP_CAUSE_RED_FORCED = 2,
    // A candidate had the flow of the arriving packet: the arriving one.
    FAIRDROP_CAUSE_MATCH_ARRIVING = 3,
    // A candidate had the flow of the arriving packet: the candidate.
    FAIRDROP_CAUSE_MATCH_QUEUED = 4,
    // The arriving packet's flow was in the memory of recent admissions (Back CHOKe) or departures (COLLAR).
    FAIRDROP_CAUSE_MEMORY = 5,
    // Two drawn packets were of one flow, which was not the arriving packet's: both of them (WARD).
    FAIRDROP_CAUSE_WARD_PAIR_QUEUED = 6,
    // BLUE dropped the arriving packet at random.
    FAIRDROP_CAUSE_BLUE = 7,
    // Packets had waited too long for too long: the one that would have left (`CoDel`).
    FAIRDROP_CAUSE_CODEL = 8,
    // A controller of the waiting time dropped the arriving packet at random (PIE, COLLAR).
    FAIRDROP_CAUSE_PIE = 9,
    // The arriving packet's flow had its share of the buffer (FRED).
    FAIRDROP_CAUSE_FRED_LIMIT = 10,
    // SRED dropped the arriving packet at random.
    FAIRDROP_CAUSE_SRED = 11,
    // The arriving packet's label was above the fair rate (CSFQ).
    FAIRDROP_CAUSE_CSFQ = 12,
    // A filter before the queue dropped the arriving packet of a restricted flow (RED-PD, penalty box, flow valve,
    // SFB's rate limit, COLLAR's limit of suspects, the excess over a fair share in BLACK, CARE and `FairDrop`, packets
    // beyond the rounds of AFQ and Cebinae, traffic above AHAB's threshold).
    FAIRDROP_CAUSE_FILTER = 13,
    // The arriving packet's flow sent above the fair rate (AFD).
    FAIRDROP_CAUSE_AFD = 14,
    // The bins of the arriving packet dropped it at random, or one of them was full (SFB).
    FAIRDROP_CAUSE_SFB = 15,
    // The buffer was full: a packet of the longest queue made room (per-flow queues).
    FAIRDROP_CAUSE_LONGEST_QUEUE = 16,
    // The coupled controller dropped the packet at random (`DualPI2`).
    FAIRDROP_CAUSE_DUAL_PI2 = 17,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum fairdrop_cause fairdrop_cause;
#else
typedef uint8_t fairdrop_cause;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// The purpose a random number is drawn for. Each has its own stream, so that switching one feature off does not shift the
// numbers of the others.
enum fairdrop_stream
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    // Drawing candidates from the queue (CHOKe and its kin, BLACK), or from a memory of departures (COLLAR).
    FAIRDROP_STREAM_CANDIDATE = 0,
    // Early drops (RED).
    FAIRDROP_STREAM_EARLY_DROP = 1,
    // Whether the fraction of a drawing factor makes one more draw (CHOKeW), or one more trial (MLC(l)).
    FAIRDROP_STREAM_DRAWING_FRACTION = 2,
    // Whether an arrival is compared, by the position it would take (WARD).
    FAIRDROP_STREAM_WARD_COIN = 3,
    // Drops of BLUE.
    FAIRDROP_STREAM_BLUE_COIN = 4,
    // Drops of PIE and of COLLAR's controller.
    FAIRDROP_STREAM_PIE_COIN = 5,
    // Drops of SRED.
    FAIRDROP_STREAM_SRED_COIN = 6,
    // Which zombie an arrival is compared with (SRED).
    FAIRDROP_STREAM_ZOMBIE = 7,
    // Whether an arrival overwrites the zombie that it missed (SRED).
    FAIRDROP_STREAM_ZOMBIE_OVERWRITE = 8,
    // Drops of CSFQ.
    FAIRDROP_STREAM_CSFQ_COIN = 9,
    // Drops of a filter before the queue (RED-PD, penalty box, flow valve, BLACK, CARE) and of COLLAR's limits.
    FAIRDROP_STREAM_FILTER_COIN = 10,
    // Drops of AFD.
    FAIRDROP_STREAM_AFD_COIN = 11,
    // Whether and where an arrival enters the shadow buffer (AFD), whether it is caught (CARE).
    FAIRDROP_STREAM_AFD_SAMPLE = 12,
    // Drops of SFB.
    FAIRDROP_STREAM_SFB_COIN = 13,
    // Drops and marks of `DualPI2`.
    FAIRDROP_STREAM_DUAL_PI2_COIN = 14,
    // Which waiting packet leaves, where service is at random (CHOKe by order of service), and how a turn's bytes are rounded (CAKE).
    FAIRDROP_STREAM_SERVICE = 15,
    // Gaps between the packets at which RED's early drop is decided at all, and these decisions, where the draw is a count-down.
    FAIRDROP_STREAM_COUNT_DOWN = 16,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum fairdrop_stream fairdrop_stream;
#else
typedef uint8_t fairdrop_stream;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What is to become of an arrival.
typedef enum fairdrop_action {
    // It is queued.
    FAIRDROP_ACTION_QUEUE = 0,
    // It is marked (RFC 3168) and queued.
    FAIRDROP_ACTION_MARK = 1,
    // It is dropped.
    FAIRDROP_ACTION_DROP = 2,
} fairdrop_action;

// What values a parameter takes.
typedef enum fairdrop_kind {
    // A whole number from `low` to `high`.
    FAIRDROP_KIND_INTEGER,
    // A number from `low` to `high`.
    FAIRDROP_KIND_NUMBER,
    // A number above `low`, up to `high`.
    FAIRDROP_KIND_NUMBER_ABOVE,
    // A number of packets from `low` to `high`.
    FAIRDROP_KIND_PACKETS,
    // A number of bytes from `low` to `high`.
    FAIRDROP_KIND_BYTES,
    // A number of seconds from `low` to `high`.
    FAIRDROP_KIND_SECONDS,
    // A switch.
    FAIRDROP_KIND_SWITCH,
    // One of the words.
    FAIRDROP_KIND_CHOICE,
    // One of the words, or a list of whole numbers from `low` to `high` that never falls.
    FAIRDROP_KIND_SCHEDULE,
    // A list of one to `longest` numbers from `low` to `high`.
    FAIRDROP_KIND_NUMBERS,
    // A key of 64 bits. As text it may be in hexadecimal digits after `0x`; as a number it is exact up to 2^53.
    FAIRDROP_KIND_KEY,
    // A rate from `low` to `high`, bit/s.
    FAIRDROP_KIND_RATE,
} fairdrop_kind;

// State of a decision. It lies at the beginning of the block given to `fairdrop_decision_init`, which must stay where it is.
typedef struct fairdrop_decision fairdrop_decision;

// A queue. It lies at the beginning of the block given to `fairdrop_init`, which must stay where it is.
typedef struct fairdrop_queue fairdrop_queue;

// The parameters of one discipline. The caller's, on the stack or anywhere; may be copied. The members are not to be
// touched.
typedef struct fairdrop_params {
    uint64_t initialised;
    uint64_t link_bps;
    // Place in the catalogue.
    uint32_t discipline;
    // Which parameters are set, by their bits.
    uint32_t set;
    // Number; bits of a key; 0 or 1; place of the word; -1 for the list.
    double values[32];
    // No discipline has two parameters that may be lists.
    double list[16];
    uint32_t list_length;
    uint32_t unused;
} fairdrop_params;

// What went wrong. Written by calls that fail, and by no others.
typedef struct fairdrop_error {
    // What the call returned, or would have.
    enum fairdrop_status status;
    // The parameter concerned, empty when it is none. Ends with NUL.
    char parameter[32];
    // The problem and the valid values, in English. Ends with NUL; cut where it is longer.
    char message[476];
} fairdrop_error;

// A packet, as far as a discipline knows it.
typedef struct fairdrop_packet {
    // Identity of the flow, compared for equality only: what the caller makes of the packet's headers, for example with
    // `fairdrop_hash`.
    uint64_t flow;
    // The caller's reference to the packet: a pointer, an index. Comes back as it was given.
    uint64_t cookie;
    // When the packet was admitted, in ns. Written by the library; `fairdrop_enqueue` does not read it.
    uint64_t enqueued_ns;
    // Length on the wire, in bytes: at most `FAIRDROP_MAX_LEN`.
    uint32_t len;
    // The rate that an edge wrote on the packet, as CSFQ encodes it; 0 when none did.
    uint16_t label;
    // Priority class (the DS field), which CHOKeW, RIO and FQ use; otherwise 0.
    uint8_t traffic_class;
    // ECN field of the IP header (RFC 3168), 0 to 3: not capable, ECT(1), ECT(0), congestion experienced. A packet that
    // comes from `fairdrop_dequeue` with 3 is to leave with 3.
    uint8_t ecn;
} fairdrop_packet;

// The hosts at the ends of a packet; compared for equality only.
typedef struct fairdrop_hosts {
    // Where it comes from.
    uint64_t source;
    // Where it goes to.
    uint64_t destination;
} fairdrop_hosts;

// What a queue asks of its host, and gives back to it. Callbacks run during calls of the library, in the thread of the
// caller; they must return, and must not call the queue that called them. A packet that they are given a pointer to is
// theirs to read until they return.
typedef struct fairdrop_host {
    // Handed to the callbacks.
    void *context;
    // Takes back a packet that is dropped. Required: the caller frees the buffer here. May be called many times during one
    // call, also for packets that were admitted before.
    void (*dropped)(void *context, const struct fairdrop_packet *packet, fairdrop_cause cause);
    // The key of every hash that finds the state, the queue or the bins of a flow: 128 secret bits, which are copied.
    // Required. Whoever knows them can send under flow numbers that all fall into one place, where each packet then costs
    // a search through all of them: take them from the system's random source (`getrandom`), anew for each run. Two zeros
    // are the key of the simulator and of the conformance vectors.
    const uint64_t *flow_key;
    // 64 random bits of a stream. NULL for the generator of the library, which `seed` and `queue` start. A draw whose
    // numbers are refused 1024 times in a row (in `choke_hardware` 64 times the addresses that it takes on average), as those
    // of a source that is stuck may be, is given up and counted in `stuck_draws`; the arrival then meets fewer candidates.
    uint64_t (*random)(void *context, fairdrop_stream stream);
    // Sees each candidate before it is compared, for traces; NULL when nobody looks.
    void (*drawn)(void *context, const struct fairdrop_packet *candidate);
    // Seed of the library's generator. Whoever can guess it can foresee which packets are drawn: it belongs with
    // `flow_key`.
    uint64_t seed;
    // Distinguishes queues with the same seed. The streams are those of the simulator's queue of that number.
    uint32_t queue;
    // Writes the hosts of a packet that arrives, for disciplines that share among hosts (CAKE, `collar_hosts`). It finds the
    // packet's flow at both ends; NULL leaves that, so that each flow has its hosts to itself.
    void (*hosts)(void *context, const struct fairdrop_packet *packet, struct fairdrop_hosts *hosts);
    // Zeros, which the library checks: members of later versions take their places.
    size_t reserved[4];
} fairdrop_host;

// Packets and their bytes on the wire.
typedef struct fairdrop_count {
    // Packets.
    uint64_t packets;
    // Bytes.
    uint64_t bytes;
} fairdrop_count;

// Counters of a queue since it was made. arrived = departed + dropped + backlog.
typedef struct fairdrop_counters {
    // Given to `fairdrop_enqueue`.
    struct fairdrop_count arrived;
    // Handed out by `fairdrop_dequeue`.
    struct fairdrop_count departed;
    // Dropped, for any cause.
    struct fairdrop_count dropped;
    // Marked (RFC 3168) where a packet that is not ECN-capable would have been dropped, for any cause.
    struct fairdrop_count marked;
    // Candidates drawn and compared.
    uint64_t drawn;
    // Draws given up because `host.random` repeats itself. Above 0 it is broken.
    uint64_t stuck_draws;
    // Zeros: counters of later versions take their places.
    uint64_t reserved[6];
} fairdrop_counters;

// A waiting packet, as far as a decision compares it.
typedef struct fairdrop_waiting {
    // Its flow, as in `fairdrop_packet`.
    uint64_t flow;
    // Its length on the wire, in bytes.
    uint32_t len;
} fairdrop_waiting;

// The ring that an arrival finds.
typedef struct fairdrop_ring {
    // Handed to `packet`.
    void *context;
    // Reads the packet in slot `slot`, below `slots`, counted from the head. Returns false where the slot is empty, as in a ring
    // whose packets are dropped in their places: a draw that meets it is made again. Must not call its decision.
    bool (*packet)(void *context, uint32_t slot, struct fairdrop_waiting *waiting);
    // Slots from the head to the tail, empty ones included.
    uint32_t slots;
    // Packets waiting in them.
    uint32_t packets;
    // Their bytes on the wire.
    uint64_t bytes;
    // Zeros, which the library checks: members of later versions take their places.
    size_t reserved[2];
} fairdrop_ring;

// A waiting packet that is to be dropped.
typedef struct fairdrop_victim {
    // Its slot in the ring that the decision was given.
    uint32_t slot;
    // Cause of the drop.
    fairdrop_cause cause;
} fairdrop_victim;

// A decision on one arrival.
typedef struct fairdrop_decided {
    // What is to become of the arrival.
    enum fairdrop_action action;
    // Cause of the mark or drop; without meaning where the arrival is queued.
    fairdrop_cause cause;
    // Waiting packets to drop: how many of `victim` are set.
    size_t victims;
    // These packets, each once.
    struct fairdrop_victim victim[FAIRDROP_MOST_VICTIMS];
} fairdrop_decided;

// Packets that arrive at the same time.
typedef struct fairdrop_burst {
    // Ids of their flows, compared for equality only, for example the hash that a network card gives. `FAIRDROP_NO_ID` counts as the
    // id below it.
    const uint32_t *ids;
    // Their lengths on the wire, in bytes: at most `FAIRDROP_MAX_LEN`.
    const uint32_t *lens;
    // Their ECN fields, as in `fairdrop_packet`; NULL where none is ECN-capable.
    const uint8_t *ecn;
    // How many there are.
    uint32_t packets;
    // Zeros, which the library checks: members of later versions take their places.
    size_t reserved[2];
} fairdrop_burst;

// A ring that its owner keeps, with an id and a length for each slot beside it.
typedef struct fairdrop_id_ring {
    // Ids of the packets in the slots, `FAIRDROP_NO_ID` where a packet was dropped in its place: a draw that meets it is made again.
    uint32_t *ids;
    // Lengths of these packets, in bytes.
    uint32_t *lens;
    // Slots of the ring: a power of two, at most 2^31.
    uint32_t slots;
    // Sequence number of the oldest slot. The slot itself is this modulo `slots`.
    uint32_t head;
    // Sequence number after that of the newest slot.
    uint32_t tail;
    // Packets waiting: slots between the two that are not empty.
    uint32_t packets;
    // Their bytes.
    uint64_t bytes;
    // Room for the waiting packets that are to be dropped, for each packet of a burst as many as the decision compares it with;
    // their slots are those of `ids`.
    struct fairdrop_victim *victim;
    // How many fit there.
    uint32_t victim_room;
    // How many the last burst set.
    uint32_t victims;
    // Zeros, which the library checks: members of later versions take their places.
    size_t reserved[2];
} fairdrop_id_ring;

// What is to become of a packet of a burst.
typedef struct fairdrop_outcome {
    // What is to become of it.
    enum fairdrop_action action;
    // Cause of the mark or drop; without meaning where it is queued.
    fairdrop_cause cause;
} fairdrop_outcome;

// A discipline. The texts are constants.
typedef struct fairdrop_discipline {
    // Name, as `fairdrop_params_init` takes it.
    const char *name;
    // Name in prose.
    const char *title;
    // One sentence.
    const char *doc;
    // Where it was published.
    const char *source;
    // Number of parameters, those of another discipline that it uses as well included.
    size_t parameters;
    // Zeros: members of later versions take their places.
    size_t reserved[2];
} fairdrop_discipline;

// A parameter of a discipline. The texts are constants.
typedef struct fairdrop_parameter {
    // The discipline that it is described with: this one, another whose parameters it uses as well (`red`), or the empty
    // text for `limit`, which all have.
    const char *table;
    // Name.
    const char *name;
    // Unit, empty when it has none.
    const char *unit;
    // Default, as `fairdrop_params_set` takes it; empty for another name of a parameter.
    const char *default_text;
    // What it does.
    const char *doc;
    // Where it comes from.
    const char *source;
    // What values it takes.
    enum fairdrop_kind kind;
    // Lowest value; 0 where there is none.
    double low;
    // Highest value; 0 where there is none.
    double high;
    // Number of words it may be set to.
    size_t words;
    // Most entries of a list; 0 where it takes none.
    size_t longest;
    // Zeros: members of later versions take their places.
    size_t reserved[2];
} fairdrop_parameter;

// A parameter of a plug-in, which scenarios set and the host checks.
typedef struct fairdrop_plugin_parameter {
    // Name: letters, digits and underscores.
    const char *name;
    // Unit; NULL or empty when it has none.
    const char *unit;
    // Default, as a scenario would have it: "0.02", "5ms", "true".
    const char *default_text;
    // What it does, in a sentence.
    const char *doc;
    // What values it takes: not `Schedule`, `Numbers` or `Key`.
    enum fairdrop_kind kind;
    // Lowest value.
    double low;
    // Highest value.
    double high;
    // The words of a choice, ended by NULL; otherwise NULL.
    const char *const *words;
} fairdrop_plugin_parameter;

// What a queue of a plug-in has of its host. It stays where it is as long as the queue is there. The functions take `context`,
// and may be called during calls of the queue only, in the same thread.
//
// There is a FIFO with uniform draws to let packets wait in; a plug-in with queues of its own reports what waits through `backlog`.
typedef struct fairdrop_plugin_host {
    // The version of the plug-in's table, which the host keeps to.
    uint32_t version;
    // Packets that may wait, as in the scenario.
    uint32_t limit;
    // Rate of the link at first, bit/s.
    uint64_t rate_bps;
    // For the functions.
    void *context;
    // A parameter that is a number or a switch (0 or 1), in the unit of its kind; NaN when there is none of that name.
    double (*number)(void *context, const char *name);
    // The number of the word that a choice is set to, from 0; -1 when there is none of that name.
    int32_t (*word)(void *context, const char *name);
    // 64 random bits of a `fairdrop_stream`: those that the library's disciplines would get. 0 when there is none.
    uint64_t (*random)(void *context, uint8_t stream);
    // Adds a packet at the tail. False when `limit` packets wait: drop it then.
    bool (*push)(void *context, const struct fairdrop_packet *packet);
    // Takes the packet at the head. False when nothing waits.
    bool (*pop)(void *context, struct fairdrop_packet *packet);
    // Shows a waiting packet, each with the same probability, by the stream of candidates; it stays. False when nothing waits.
    bool (*draw)(void *context, struct fairdrop_packet *packet);
    // Shows the packet at the head. False when nothing waits.
    bool (*head)(void *context, struct fairdrop_packet *packet);
    // Shows the packet at the tail. False when nothing waits.
    bool (*tail)(void *context, struct fairdrop_packet *packet);
    // Takes the packet with this cookie out, wherever it waits. False when it does not wait.
    bool (*remove)(void *context, uint64_t cookie);
    // Packets that wait.
    uint32_t (*length)(void *context);
    // Bytes that wait.
    uint64_t (*bytes)(void *context);
    // Drops a packet for a `fairdrop_cause`: the arriving one, or one that was taken out.
    void (*drop)(void *context, const struct fairdrop_packet *packet, uint8_t cause);
    // Marks a packet in place of a drop (RFC 3168): writes its ECN field. False when it is not ECN-capable.
    bool (*mark)(void *context, struct fairdrop_packet *packet, uint8_t cause);
    // Ends the run, with a sentence for its user.
    void (*fail)(void *context, const char *what);
    // Drops the packet that `draw`, `head` or `tail` showed last, wherever it waits in the FIFO, for a `fairdrop_cause`. False when
    // none was shown in this call, or it waits no more. Since version 3.
    bool (*drop_shown)(void *context, uint8_t cause);
    // Packets in the FIFO as a call of the queue begins: what `length` would return. Since version 3.
    uint32_t packets;
    // Bytes in the FIFO as a call of the queue begins. Since version 3.
    uint64_t bytes_waiting;
    // Where to write the internals, in their order, as they change; only during calls. Since version 3.
    double *values;
} fairdrop_plugin_host;

// A discipline in a shared object, which gives it from a function that it exports:
//
// ```c
// const fairdrop_plugin *fairdrop_plugin_table(void);
// ```
//
// The table and what it points to stay as they are. Queues are independent, and may be used by different threads: keep what
// changes in what `make` returns.
typedef struct fairdrop_plugin {
    // `FAIRDROP_PLUGIN_VERSION`. The first field in every version.
    uint32_t version;
    // Name in scenarios: letters, digits and underscores.
    const char *name;
    // One sentence.
    const char *doc;
    // Where it was published; NULL or empty when it was not.
    const char *source;
    // Its parameters.
    const struct fairdrop_plugin_parameter *parameters;
    // How many.
    size_t parameter_count;
    // Names of the values that it decides by, which results show; `avg` is the average queue.
    const char *const *internals;
    // How many.
    size_t internal_count;
    // A queue for a host that is there as long as it is. NULL when there is no memory.
    void *(*make)(const struct fairdrop_plugin_host *host);
    // The queue is used no more.
    void (*release)(void *queue);
    // A packet arrives. NULL where there is `admit`.
    void (*enqueue)(void *queue, const struct fairdrop_packet *packet, uint64_t now_ns);
    // The packet to send next, if any. Called when nothing waits as well: the link is idle then. NULL, where there is `admit`, for
    // the head of the host's FIFO.
    bool (*dequeue)(void *queue, struct fairdrop_packet *packet, uint64_t now_ns);
    // When `tick` is to be called, ns; `UINT64_MAX` for never. NULL for disciplines without timers.
    uint64_t (*deadline)(void *queue);
    // The deadline has come. NULL for disciplines without timers.
    void (*tick)(void *queue, uint64_t now_ns);
    // Packets and bytes that wait. NULL when all wait in the host's FIFO.
    void (*backlog)(void *queue, uint32_t *packets, uint64_t *bytes);
    // Writes as many values as there are internals. NULL when there are none, or, since version 3, when the queue writes them to
    // the host's `values`.
    void (*show)(void *queue, double *values);
    // Whether `dequeue` changes the internals.
    bool departures_change_internals;
    // In place of `enqueue`, where all packets wait in the host's FIFO: `FAIRDROP_ADMIT` for the host to add this one at the tail,
    // or the `fairdrop_cause` for which it drops it. The packet may be marked; where `limit` packets wait it is dropped all the
    // same. Since version 2.
    int32_t (*admit)(void *queue, struct fairdrop_packet *packet, uint64_t now_ns);
    // Nothing waits, and the link is idle. Called where there is no `dequeue`; NULL if that makes no difference. Since version 2.
    void (*idle)(void *queue, uint64_t now_ns);
} fairdrop_plugin;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the interface that the library was built with.
uint32_t fairdrop_abi_version(void);

// Fills `params` with the defaults of the discipline called `discipline` (`"choke"`), for a link of `link_bps` bit/s, above
// 0. Averages that decay while the link is idle, fair queueing and CSFQ reckon with that rate.
enum fairdrop_status fairdrop_params_init(struct fairdrop_params *params,
                                          const char *discipline,
                                          uint64_t link_bps,
                                          struct fairdrop_error *error);

// Sets a parameter from text, as scenario files and the catalogue write it: `"300p"`, `"10kB"`, `"5ms"`, `"true"`,
// `"uniform"`, `"[1, 2, 4]"`. Units may be left out: packets, bytes, seconds.
//
// A name is that of the catalogue (`"min_th"`), or has the table that it is described in before it (`"red.min_th"`), which
// it must have where two tables have one of that name. Parameters may be set in any order, and again; a value that is
// refused changes nothing.
enum fairdrop_status fairdrop_params_set(struct fairdrop_params *params,
                                         const char *name,
                                         const char *value,
                                         struct fairdrop_error *error);

// Sets a parameter to a number, in the unit of the catalogue: packets, bytes, seconds.
enum fairdrop_status fairdrop_params_set_number(struct fairdrop_params *params,
                                                const char *name,
                                                double value,
                                                struct fairdrop_error *error);

// Sets a switch.
enum fairdrop_status fairdrop_params_set_switch(struct fairdrop_params *params,
                                                const char *name,
                                                bool on,
                                                struct fairdrop_error *error);

// Sets a parameter to one of its words.
enum fairdrop_status fairdrop_params_set_word(struct fairdrop_params *params,
                                              const char *name,
                                              const char *word,
                                              struct fairdrop_error *error);

// Sets a parameter to a list of `count` numbers.
enum fairdrop_status fairdrop_params_set_list(struct fairdrop_params *params,
                                              const char *name,
                                              const double *numbers,
                                              size_t count,
                                              struct fairdrop_error *error);

// Bytes that a queue with these parameters needs; 0 when the parameters do not go together (see `error`).
size_t fairdrop_size(const struct fairdrop_params *params, struct fairdrop_error *error);

// Makes an empty queue in `memory`, a block of `size` bytes, at least `fairdrop_size(params)`, aligned to
// `FAIRDROP_ALIGN`. Returns NULL when it cannot (see `error`). `params` and `host` are copied. The block is the queue's until
// the caller makes no more calls with it: there is nothing to close. It must not be moved or copied.
struct fairdrop_queue *fairdrop_init(void *memory,
                                     size_t size,
                                     const struct fairdrop_params *params,
                                     const struct fairdrop_host *host,
                                     struct fairdrop_error *error);

// Offers a packet that arrives at `now_ns`. It is queued, or dropped, and packets that wait may be dropped with it: each
// drop is a call of `host.dropped`. When this returns below 0 the packet was not taken: `FAIRDROP_STATUS_BAD_ARGUMENT` for an
// `ecn` above 3 and a `len` above `FAIRDROP_MAX_LEN`.
enum fairdrop_status fairdrop_enqueue(struct fairdrop_queue *queue,
                                      const struct fairdrop_packet *packet,
                                      uint64_t now_ns);

// Takes the packet to transmit next into `packet`; `FAIRDROP_STATUS_NONE` when nothing waits, or a shaper (CAKE with a `rate`)
// holds back what waits: then call `fairdrop_tick` at `fairdrop_deadline`, and this after it. Call it when the transmitter is
// free, even when nothing waits: a call that finds the queue empty is how a discipline learns that the link is idle.
enum fairdrop_status fairdrop_dequeue(struct fairdrop_queue *queue,
                                      uint64_t now_ns,
                                      struct fairdrop_packet *packet);

// Copies into `packet` what `fairdrop_dequeue` would give at `now_ns`; `FAIRDROP_STATUS_NONE` when it would give nothing. For
// schedulers that compare the heads of several queues. In a FIFO whose departures nothing decides the packet stays where it is:
// until it is taken, an arrival may still drop it. A discipline that decides at departure (CoDel, the fair queues) gives it up, and
// the queue keeps it for the next `fairdrop_dequeue`, as part of the backlog.
enum fairdrop_status fairdrop_peek(struct fairdrop_queue *queue,
                                   uint64_t now_ns,
                                   struct fairdrop_packet *packet);

// Sets other parameters of the queue's discipline while packets wait: packets, counters and state stay, and packets beyond a smaller
// limit leave as they would have. Refused, with nothing changed, for parameters of another discipline, for those that need more
// storage than the block has, and with `FAIRDROP_STATUS_UNSUPPORTED` by disciplines that take their parameters once (see `error`).
enum fairdrop_status fairdrop_change(struct fairdrop_queue *queue,
                                     const struct fairdrop_params *params,
                                     struct fairdrop_error *error);

// When `fairdrop_tick` wants to be called; `FAIRDROP_STATUS_NONE` when the discipline has no timer, and while a
// shaper holds nothing back.
enum fairdrop_status fairdrop_deadline(const struct fairdrop_queue *queue,
                                       uint64_t *deadline_ns);

// The deadline has come. If the transmitter is free, call `fairdrop_dequeue` next.
enum fairdrop_status fairdrop_tick(struct fairdrop_queue *queue, uint64_t now_ns);

// What waits now.
enum fairdrop_status fairdrop_backlog(const struct fairdrop_queue *queue, struct fairdrop_count *backlog);

// Counters since the queue was made.
enum fairdrop_status fairdrop_stats(const struct fairdrop_queue *queue, struct fairdrop_counters *stats);

// Packets dropped for `cause`; `FAIRDROP_STATUS_NONE` when there is no such cause.
enum fairdrop_status fairdrop_dropped(const struct fairdrop_queue *queue,
                                      uint8_t cause,
                                      struct fairdrop_count *count);

// Packets marked for `cause`; `FAIRDROP_STATUS_NONE` when there is no such cause.
enum fairdrop_status fairdrop_marked(const struct fairdrop_queue *queue,
                                     uint8_t cause,
                                     struct fairdrop_count *count);

// The average queue in packets that the discipline decides by; `FAIRDROP_STATUS_NONE` when it keeps none.
enum fairdrop_status fairdrop_average(const struct fairdrop_queue *queue, double *packets);

// Gives the values that the discipline decides by to `see`, each with the name that its publication uses (`avg`, `p`), as of
// the last call. The name is valid until `see` returns.
enum fairdrop_status fairdrop_internals(struct fairdrop_queue *queue,
                                        void (*see)(void *context, const char *name, double value),
                                        void *context);

// Shows every waiting packet to `visit`: in the order of departure where they wait in one FIFO, otherwise queue by queue.
enum fairdrop_status fairdrop_for_each_waiting(struct fairdrop_queue *queue,
                                               void (*visit)(void *context,
                                                             const struct fairdrop_packet *packet),
                                               void *context);

// Bytes that a decision with these parameters needs; 0 when there is no such decision, or the parameters do not go together
// (see `error`). Decisions apart from a queue are those of `red`, `choke`, `chokew`, `ward` and `collar`.
size_t fairdrop_decision_size(const struct fairdrop_params *params,
                              struct fairdrop_error *error);

// Makes a decision for an empty ring in `memory`, a block of `size` bytes, at least `fairdrop_decision_size(params)`, aligned to
// `FAIRDROP_ALIGN`. Returns NULL when it cannot (see `error`). Of `host` it uses `context`, `random`, `seed`, `queue` and
// `flow_key`, which only COLLAR needs; `dropped` may be NULL. The block must not be moved or copied; there is nothing to close.
struct fairdrop_decision *fairdrop_decision_init(void *memory,
                                                 size_t size,
                                                 const struct fairdrop_params *params,
                                                 const struct fairdrop_host *host,
                                                 struct fairdrop_error *error);

// Sets the modes of the bursts of a decision of `red` or `choke` to a sum of `FAIRDROP_BURST_AVERAGE_ONCE`, `..._SNAPSHOT` and
// `..._COUNT_DOWN`, or to 0, with which bursts are decided as their packets are one after the other. Call it between two bursts. When
// this returns below 0 nothing has changed: `FAIRDROP_STATUS_BAD_ARGUMENT` for another mode, or another decision.
enum fairdrop_status fairdrop_decision_set_modes(struct fairdrop_decision *decision,
                                                 uint32_t modes);

// Chooses the library's generator for a decision whose host has no `random` of its own, and starts its streams from `seed` and
// `queue` of that host. Returns `FAIRDROP_STATUS_BAD_ARGUMENT` for another generator, with which nothing changes.
enum fairdrop_status fairdrop_decision_set_generator(struct fairdrop_decision *decision,
                                                     uint32_t generator);

// Decides on a packet that arrives at `ring` at `now_ns`, and writes the decision to `decided`. The caller carries it out: drops the
// packets of `victim`, then queues, marks or drops the arrival. When this returns below 0 nothing was decided:
// `FAIRDROP_STATUS_BAD_ARGUMENT` for an `ecn` above 3, a `len` above `FAIRDROP_MAX_LEN`, more `packets` than `slots`.
enum fairdrop_status fairdrop_decide(struct fairdrop_decision *decision,
                                     const struct fairdrop_packet *packet,
                                     const struct fairdrop_ring *ring,
                                     uint64_t now_ns,
                                     struct fairdrop_decided *decided);

// The ring's packet `packet` was sent at `now_ns`, with `waiting` others behind it. Of the packet it reads `flow`, `len` and
// `enqueued_ns`, the time of its arrival, which the caller keeps. COLLAR decides by what is sent; for the others it may be left out.
enum fairdrop_status fairdrop_decision_sent(struct fairdrop_decision *decision,
                                            const struct fairdrop_packet *packet,
                                            uint32_t waiting,
                                            uint64_t now_ns);

// The transmitter is free at `now_ns` and nothing waits: averages of RED, CHOKe and CHOKeW decay from then on.
enum fairdrop_status fairdrop_decision_idle(struct fairdrop_decision *decision,
                                            uint64_t now_ns);

// Decides on packets that arrive together at `now_ns`, exactly as `fairdrop_decide` does on one after the other, unless
// `fairdrop_decision_set_modes` has set other modes, and writes an outcome for each. In modes a burst has at most 64 packets; a longer
// one is decided as several. The caller carries it out: puts the packets that are queued or marked into the slots from `tail` on, in order, and then
// drops the packets of `victim`, some of which may have come with the burst. `tail`, `packets`, `bytes`, `victims`, ids and lengths
// of the ring are brought up to date. For `red` and `choke`; RED takes no notice of `ids`, `lens` and `victim` of the ring, which may be
// NULL. When this returns below 0 nothing was decided: `FAIRDROP_STATUS_BAD_ARGUMENT` for another decision, an `ecn` above 3, a `len`
// above `FAIRDROP_MAX_LEN`, slots that are no power of two, more of them occupied or more packets than there are, and too few
// `victim_room`.
enum fairdrop_status fairdrop_decide_burst(struct fairdrop_decision *decision,
                                           const struct fairdrop_burst *burst,
                                           struct fairdrop_id_ring *ring,
                                           uint64_t now_ns,
                                           struct fairdrop_outcome *outcome);

// Number of disciplines.
size_t fairdrop_discipline_count(void);

// Describes discipline number `index`, from 0 on. `FAIRDROP_STATUS_NONE` when there are fewer.
enum fairdrop_status fairdrop_discipline_at(size_t index, struct fairdrop_discipline *discipline);

// Describes parameter number `index`, from 0 on, of discipline number `discipline`. `FAIRDROP_STATUS_NONE` when there are
// fewer.
enum fairdrop_status fairdrop_parameter_at(size_t discipline,
                                           size_t index,
                                           struct fairdrop_parameter *described);

// Word number `word` that a parameter may be set to; NULL when there are fewer.
const char *fairdrop_parameter_word(size_t discipline, size_t index, size_t word);

// Writes what values a parameter takes, in English, into `buffer` of `size` bytes: cut where it is longer, ending with NUL.
// Returns the length of the whole text without the NUL, as `snprintf` does; 0 when there is no such parameter.
size_t fairdrop_parameter_valid(size_t discipline,
                                size_t index,
                                char *buffer,
                                size_t size);

// Number of causes that packets are dropped for; they are 0 to this less one.
size_t fairdrop_cause_count(void);

// The name of a cause in tables, plots and documents (`"match_queued"`); NULL when there is no such cause.
const char *fairdrop_cause_name(uint8_t cause);

// SipHash-2-4 of `length` bytes under a secret key of 128 bits: what makes `flow` of a packet's addresses, protocol and
// ports, so that nobody who does not know the key can choose ports that collide with somebody else's.
uint64_t fairdrop_hash(uint64_t key_low,
                       uint64_t key_high,
                       const uint8_t *bytes,
                       size_t length);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

// Memory that is set aside when a program is compiled: FAIRDROP_CHOKE_BYTES(limit), and one such macro for each discipline,
// is a constant that is at least fairdrop_size() for `limit` packets (1 to 8000000) and defaults for what else there is. Other
// parameters may need more, and so may a shared library that is newer than this header; fairdrop_init then says how much.
//
//     static FAIRDROP_MEMORY(block, FAIRDROP_CHOKE_BYTES(100));
//     queue = fairdrop_init(block, sizeof block, &params, &host, &error);
#define FAIRDROP_MEMORY(name, bytes) uint64_t name[((bytes) + 8 - 1) / 8]

// Smallest power of two that is not below `n`; slots of a ring, and places of a table, for `limit` packets.
#define FAIRDROP_POWER_OF_TWO(n) ( \
    (n) <= 1u ? 1u : \
    (n) <= 2u ? 2u : \
    (n) <= 4u ? 4u : \
    (n) <= 8u ? 8u : \
    (n) <= 16u ? 16u : \
    (n) <= 32u ? 32u : \
    (n) <= 64u ? 64u : \
    (n) <= 128u ? 128u : \
    (n) <= 256u ? 256u : \
    (n) <= 512u ? 512u : \
    (n) <= 1024u ? 1024u : \
    (n) <= 2048u ? 2048u : \
    (n) <= 4096u ? 4096u : \
    (n) <= 8192u ? 8192u : \
    (n) <= 16384u ? 16384u : \
    (n) <= 32768u ? 32768u : \
    (n) <= 65536u ? 65536u : \
    (n) <= 131072u ? 131072u : \
    (n) <= 262144u ? 262144u : \
    (n) <= 524288u ? 524288u : \
    (n) <= 1048576u ? 1048576u : \
    (n) <= 2097152u ? 2097152u : \
    (n) <= 4194304u ? 4194304u : \
    (n) <= 8388608u ? 8388608u : \
    (n) <= 16777216u ? 16777216u : \
    33554432u)
#define FAIRDROP_SLOTS(limit) FAIRDROP_POWER_OF_TWO(2 * (size_t)(limit) + 8)
#define FAIRDROP_PLACES(limit) FAIRDROP_POWER_OF_TWO((4 * (size_t)(limit) + 2) / 3)

#define FAIRDROP_BLUE_BYTES(limit) (3776 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_DROPTAIL_BYTES(limit) (3776 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_RED_BYTES(limit) (3776 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_RIO_BYTES(limit) (3776 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_BACK_CHOKE_MEMORY_BYTES(limit) (3776 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_CHOKE_BYTES(limit) (3776 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_CHOKE_HARDWARE_BYTES(limit) (20160 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_CHOKE_SERVICE_BYTES(limit) (3776 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_CHOKEW_BYTES(limit) (3776 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_GCHOKE_BYTES(limit) (3776 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_MLC_BYTES(limit) (3776 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_WARD_BYTES(limit) (3776 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_COBALT_BYTES(limit) (3776 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_CODEL_BYTES(limit) (3776 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_PIE_BYTES(limit) (3776 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_AFD_BYTES(limit) (32384 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_AHAB_BYTES(limit) (102080 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_BLACK_BYTES(limit) (4096 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_CARE_BYTES(limit) (17664 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_CODEL_AF_BYTES(limit) (44736 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_COLLAR_BYTES(limit) (6464 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_COLLAR_HOSTS_BYTES(limit) (10432 + 8 * (size_t)(limit) + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_COLLAR_INTEGER_BYTES(limit) (5824 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_COLLAR_SPARSE_BYTES(limit) (16704 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_COLLARW_BYTES(limit) (6464 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_CSFQ_BYTES(limit) (265920 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_FAIR_DROP_BYTES(limit) (331456 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_FAIR_POLICER_BYTES(limit) (36160 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_FLOW_VALVE_BYTES(limit) (10944 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_FRED_BYTES(limit) (3776 + 32 * (size_t)FAIRDROP_SLOTS(limit) + 24 * (size_t)FAIRDROP_PLACES(limit))
#define FAIRDROP_PENALTY_BOX_BYTES(limit) (24256 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_RED_PD_BYTES(limit) (36544 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_SFB_BYTES(limit) (5248 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_SRED_BYTES(limit) (27776 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_A2FQ_BYTES(limit) (135616 + 40 * (size_t)(limit))
#define FAIRDROP_AFQ_BYTES(limit) (135616 + 40 * (size_t)(limit))
#define FAIRDROP_CAKE_BYTES(limit) (167680 + 40 * (size_t)(limit))
#define FAIRDROP_CEBINAE_BYTES(limit) (167680 + 40 * (size_t)(limit))
#define FAIRDROP_CLASS_CHOKE_BYTES(limit) (4672 + 32 * (size_t)FAIRDROP_SLOTS(limit))
#define FAIRDROP_DRR_BYTES(limit) (3776 + 88 * (size_t)(limit) + 24 * (size_t)FAIRDROP_PLACES(limit))
#define FAIRDROP_DUALPI2_BYTES(limit) (3776 + 40 * (size_t)(limit))
#define FAIRDROP_FQ_BYTES(limit) (3776 + 256 * (size_t)(limit) + 48 * (size_t)FAIRDROP_PLACES(limit))
#define FAIRDROP_FQ_CODEL_BYTES(limit) (102144 + 40 * (size_t)(limit))
#define FAIRDROP_FQ_PIE_BYTES(limit) (126656 + 40 * (size_t)(limit))
#define FAIRDROP_SFQ_BYTES(limit) (52928 + 56 * (size_t)(limit))

#endif  /* FAIRDROP_H */

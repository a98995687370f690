// Random packets, parameters and random numbers to `collar_integer` of the library and to its core, by turns: every decision and its
// cause has to be the same, and at the end of each episode the counters.
//
//     random_collar PACKETS SEED [FOLDER]
//
// With a folder, each episode is written to it in the format of the conformance vectors, for other simulators.

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <fairdrop.h>
#include <verilated.h>

#include "Vcore.h"
#include "harness.h"

namespace {

constexpr unsigned kEpisode = 3000;
constexpr unsigned kStuck = 200'000;
constexpr uint64_t kLinkBps = 8'000'000;
constexpr unsigned kStreams = 3;
constexpr fairdrop_stream kStream[kStreams] = {FAIRDROP_STREAM_CANDIDATE, FAIRDROP_STREAM_FILTER_COIN, FAIRDROP_STREAM_PIE_COIN};
enum { kOverflow, kFilter, kMemory, kPie, kCauses };
constexpr fairdrop_cause kCause[kCauses] = {FAIRDROP_CAUSE_OVERFLOW, FAIRDROP_CAUSE_FILTER, FAIRDROP_CAUSE_MEMORY,
                                            FAIRDROP_CAUSE_PIE};
const char *const kName[kCauses] = {"overflow", "filter", "memory", "pie"};

// COLLAR's id of a flow under a key of zeros: the constants are SipHash-2-4 of the bytes 0, 1 and 2, the last two made odd.
uint32_t id_of(uint64_t flow) {
    const auto wide = static_cast<unsigned __int128>(flow ^ 0x8b5a0baa49fbc58d) * 0x667dd5401e6fd801;
    const auto folded = static_cast<uint64_t>(wide >> 64) ^ static_cast<uint64_t>(wide);
    return std::max<uint32_t>(static_cast<uint32_t>(folded * 0x39ac0ea289bcb317 >> 32), 1);
}

// The library's parameters, and the registers that mean the same.
struct Setting {
    std::string described, header;
    fairdrop_params params;
    uint32_t words[18] = {};
    unsigned flows = 1, limit = 1;

    void set(const char *name, const std::string &value) {
        fairdrop_error error;
        if (fairdrop_params_set(&params, name, value.c_str(), &error) < 0) fail(error.message);
        described += std::string(" ") + name + "=" + value;
    }
    explicit Setting(Random &random) {
        fairdrop_error error;
        if (fairdrop_params_init(&params, "collar_integer", kLinkBps, &error) < 0) fail(error.message);
        limit = random.of({3u, 20u, 60u, 200u});
        const uint64_t target = random.of({500u, 2000u, 15000u}) * UINT64_C(1000), span = random.of({5u, 20u, 200u}) * UINT64_C(1000000);
        const unsigned ids = 128u << random.below(CORE_IDS_BITS - 6), sets = 1 + random.below(1u << CORE_SETS_BITS);
        const unsigned share = random.of({58982u, 32768u, 65536u});
        const bool ecn = random.chance(60);
        const auto head = [this](const char *name, const std::string &value) {
            header += (header.empty() ? "" : ", ") + ("{\"owner\": \"collar\", \"name\": \"" + std::string(name) + "\", \"value\": " + value + "}");
        };
        set("limit", std::to_string(limit) + "p");
        set("target", std::to_string(target) + "ns");
        set("span", std::to_string(span) + "ns");
        set("ids", std::to_string(ids));
        set("sets", std::to_string(sets));
        char text[40];
        std::snprintf(text, sizeof text, "%.17g", share / 65536.0);
        set("share", text);
        set("ecn", ecn ? "true" : "false");
        head("target", std::to_string(target) + "e-9");
        head("span", std::to_string(span) + "e-9");
        head("ids", std::to_string(ids));
        head("sets", std::to_string(sets));
        head("share", text);
        head("ecn", ecn ? "true" : "false");
        flows = random.of({3u, 12u, 40u, 400u});
        const uint64_t per_span = (UINT64_C(1) << 63) / span;
        words[0] = 1 | uint32_t{ecn} << 4;
        words[1] = limit;
        words[2] = static_cast<uint32_t>(target);
        words[3] = static_cast<uint32_t>(span);
        words[4] = static_cast<uint32_t>(per_span);
        words[5] = static_cast<uint32_t>(per_span >> 32);
        words[6] = share;
        words[7] = std::max<uint32_t>(1, static_cast<uint32_t>(uint64_t{share} * 91'750 >> 16));
        words[8] = ids | sets << 16;
    }
};

// What the library does with one event.
struct Library {
    Random &random;
    std::deque<uint64_t> numbers[kStreams];
    std::vector<fairdrop_cause> dropped;
    std::vector<uint64_t> memory;
    fairdrop_queue *queue = nullptr;

    explicit Library(Random &source) : random(source) {}

    void begin(const Setting &setting) {
        static const uint64_t key[2] = {0, 0};
        fairdrop_host host = {};
        fairdrop_error error;
        host.context = this;
        host.flow_key = key;
        host.dropped = [](void *self, const fairdrop_packet *, fairdrop_cause cause) {
            static_cast<Library *>(self)->dropped.push_back(cause);
        };
        host.random = [](void *self, fairdrop_stream stream) {
            auto &library = *static_cast<Library *>(self);
            const uint64_t number = library.random.next();
            for (unsigned at = 0; at < kStreams; ++at)
                if (stream == kStream[at]) library.numbers[at].push_back(number);
            return number;
        };
        const size_t size = fairdrop_size(&setting.params, &error);
        if (size == 0) fail(error.message);
        memory.assign((size + 7) / 8, 0);
        queue = fairdrop_init(memory.data(), memory.size() * 8, &setting.params, &host, &error);
        if (queue == nullptr) fail(error.message);
    }
};

// The core, clock by clock.
struct Core {
    std::unique_ptr<VerilatedContext> context{new VerilatedContext};
    std::unique_ptr<Vcore> top{new Vcore{context.get()}};
    Random stalls{1};
    bool stalling = false;
    uint64_t clocks = 0;
    std::deque<uint64_t> *numbers = nullptr;
    bool took_arrival = false, took_departure = false, decided = false;
    uint32_t decision = 0;

    bool offered(bool have) { return have && !(stalling && stalls.chance(30)); }
    void tick() {
        top->clk = 0;
        const auto number = [this](unsigned at) { return numbers[at].empty() ? 0 : numbers[at].front(); };
        top->s_axis_candidate_tvalid = offered(!numbers[0].empty());
        top->s_axis_candidate_tdata = number(0);
        top->s_axis_filter_tvalid = offered(!numbers[1].empty());
        top->s_axis_filter_tdata = number(1);
        top->s_axis_pie_tvalid = offered(!numbers[2].empty());
        top->s_axis_pie_tdata = number(2);
        top->m_axis_decision_tready = offered(true);
        top->eval();
        took_arrival = top->s_axis_arrival_tvalid && top->s_axis_arrival_tready;
        took_departure = top->s_axis_departure_tvalid && top->s_axis_departure_tready;
        decided = top->m_axis_decision_tvalid && top->m_axis_decision_tready;
        decision = top->m_axis_decision_tdata;
        if (top->s_axis_candidate_tvalid && top->s_axis_candidate_tready) numbers[0].pop_front();
        if (top->s_axis_filter_tvalid && top->s_axis_filter_tready) numbers[1].pop_front();
        if (top->s_axis_pie_tvalid && top->s_axis_pie_tready) numbers[2].pop_front();
        top->clk = 1;
        top->eval();
        ++clocks;
    }
    void write(unsigned word, uint32_t value) {
        top->s_axil_awaddr = 4 * word;
        top->s_axil_wdata = value;
        top->s_axil_awvalid = top->s_axil_wvalid = 1;
        tick();
        top->s_axil_awvalid = top->s_axil_wvalid = 0;
        if (!top->s_axil_bvalid || top->s_axil_bresp != 0) fail("a register is not written");
        tick();
    }
    uint32_t reading(unsigned number) {
        top->s_axil_araddr = 0x200 + 4 * number;
        top->s_axil_arvalid = 1;
        tick();
        top->s_axil_arvalid = 0;
        if (!top->s_axil_rvalid || top->s_axil_rresp != 0) fail("a counter is not read");
        const uint32_t value = top->s_axil_rdata;
        tick();
        return value;
    }
    std::string left() const {
        std::string text;
        for (unsigned at = 0; at < kStreams; ++at) text += std::to_string(numbers[at].size()) + " ";
        return text + "numbers left of candidate, filter, pie";
    }
    // Clocks until the command before is done, and the controller.
    uint64_t settle() {
        const uint64_t begun = clocks;
        do {
            tick();
            if (clocks - begun > kStuck) fail("the core is stuck");
        } while (!top->s_axis_departure_tready);
        return clocks - begun;
    }
    void begin(const Setting &setting) {
        top->now_ns = 0;
        for (unsigned word = 18; word-- > 0;) write(word, setting.words[word]);
        settle();
    }
    // Clocks from the arrival's to that of the decision.
    uint64_t arrive(uint64_t data) {
        top->s_axis_arrival_tdata = data;
        top->s_axis_arrival_tvalid = 1;
        for (uint64_t begun = 0, waited = 0; waited < kStuck; ++waited) {
            tick();
            if (took_arrival) {
                begun = clocks;
                top->s_axis_arrival_tvalid = 0;
            }
            if (decided) return clocks - begun;
        }
        fail("the core is stuck at an arrival, " + left());
    }
    uint64_t depart(uint32_t id, uint32_t len, uint32_t waited) {
        top->s_axis_departure_tdata[0] = id;
        top->s_axis_departure_tdata[1] = len;
        top->s_axis_departure_tdata[2] = waited;
        top->s_axis_departure_tvalid = 1;
        do tick();
        while (!took_departure);
        top->s_axis_departure_tvalid = 0;
        return settle();
    }
};

struct Total {
    uint64_t packets = 0, episodes = 0, departed = 0, marks = 0, drops[kCauses] = {}, decision = 0, sample = 0, update = 0;
};

struct Episode {
    Setting setting;
    Random &random;
    Library &library;
    Core &core;
    Total &total;
    uint64_t now_ns = 0, waiting = 0, number = 0, events = 0;
    std::FILE *record = nullptr;

    // The event's line: what arrived or left, the random numbers, and what the library did.
    void write_event(const std::string &of_type, const std::string &numbers, const std::string &outcome) {
        std::string internals;
        fairdrop_internals(
            library.queue,
            [](void *text, const char *name, double value) {
                char pair[64];
                std::snprintf(pair, sizeof pair, "\"%s\": %.17g", name, value);
                auto &list = *static_cast<std::string *>(text);
                list += (list.empty() ? "" : ", ") + std::string(pair);
            },
            &internals);
        std::fprintf(record, "{\"event\": %" PRIu64 ", \"time_ns\": %" PRIu64 ", %s, \"random\": {%s}, \"outcome\": {%s, \"internals\": {%s}}}\n",
                     events++, now_ns, of_type.c_str(), numbers.c_str(), outcome.c_str(), internals.c_str());
    }
    std::string random_numbers() const {
        return "\"candidate\": " + hex_list(library.numbers[0]) + ", \"filter_coin\": " + hex_list(library.numbers[1]) +
               ", \"pie_coin\": " + hex_list(library.numbers[2]);
    }

    std::string where() const { return "packet " + std::to_string(total.packets) + " of" + setting.described; }

    void arrive() {
        fairdrop_packet packet = {};
        // Few flows send most.
        packet.flow = random.chance(60) ? random.below(3) : random.below(setting.flows);
        packet.len = 40 + random.below(1461);
        packet.ecn = static_cast<uint8_t>(random.below(4));
        packet.cookie = number;
        library.dropped.clear();
        const uint8_t ecn = packet.ecn;
        fairdrop_counters before, after;
        fairdrop_stats(library.queue, &before);
        if (fairdrop_enqueue(library.queue, &packet, now_ns) < 0) fail("the library refuses a packet");
        fairdrop_stats(library.queue, &after);
        const std::string numbers = random_numbers();
        const uint64_t clocks = core.arrive(id_of(packet.flow) | uint64_t{packet.len} << 32 | uint64_t{ecn} << 48);
        const unsigned action = core.decision & 3, cause = core.decision >> 2 & 7;
        if ((action == 2) != !library.dropped.empty()) fail("a decision, " + where());
        if (action == 2 && library.dropped.at(0) != kCause[cause]) fail("the cause of a drop, " + where());
        // A packet that overflows was not marked.
        const bool marked = after.marked.packets != before.marked.packets;
        if ((action == 1) != marked) fail("a mark, " + where());
        total.marks += marked;
        if (action == 2) ++total.drops[cause];
        else ++waiting;
        ++total.packets;
        if (record != nullptr) {
            const std::string one = "[[" + std::to_string(number) + ", \"" + kName[cause] + "\"]]";
            write_event("\"type\": \"enqueue\", \"id\": " + std::to_string(number) + ", \"flow\": " + std::to_string(packet.flow) +
                            ", \"len\": " + std::to_string(packet.len) + ", \"ecn\": " + std::to_string(ecn),
                        numbers, "\"dropped\": " + (action == 2 ? one : "[]") + ", \"marked\": " + (action == 1 ? one : "[]"));
        }
        ++number;
        if (!core.stalling) total.decision = std::max(total.decision, clocks);
        core.settle();
    }

    void depart() {
        fairdrop_packet packet = {};
        if (fairdrop_dequeue(library.queue, now_ns, &packet) != FAIRDROP_STATUS_OK) fail("a departure, " + where());
        const uint64_t waited = now_ns - packet.enqueued_ns;
        if (record != nullptr)
            write_event("\"type\": \"dequeue\"", random_numbers(), "\"departed\": " + std::to_string(packet.cookie));
        const uint64_t clocks = core.depart(id_of(packet.flow), packet.len, static_cast<uint32_t>(std::min<uint64_t>(waited, UINT32_MAX)));
        if (!core.stalling) total.sample = std::max(total.sample, clocks);
        --waiting;
        ++total.departed;
    }

    void compare_counters() {
        const auto equal = [this](unsigned reading, uint64_t count, const char *name) {
            const uint64_t value = core.reading(reading);
            if (value != count) fail(std::string(name) + ": " + std::to_string(value) + " in the core, " +
                                     std::to_string(count) + " in the library, " + where());
        };
        fairdrop_counters counters;
        fairdrop_stats(library.queue, &counters);
        equal(0, counters.arrived.packets, "arrived");
        equal(1, counters.departed.packets, "departed");
        for (unsigned cause = 0; cause < kCauses; ++cause) {
            fairdrop_count count;
            fairdrop_dropped(library.queue, static_cast<uint8_t>(kCause[cause]), &count);
            equal(2 + cause, count.packets, kName[cause]);
        }
        for (unsigned cause = kFilter; cause < kCauses; ++cause) {
            fairdrop_count count;
            fairdrop_marked(library.queue, static_cast<uint8_t>(kCause[cause]), &count);
            equal(5 + cause, count.packets, "marked");
        }
        equal(10, waiting, "waiting");
    }

    void run() {
        library.begin(setting);
        core.stalling = random.chance(30);
        core.begin(setting);
        if (record != nullptr)
            std::fprintf(record, "{\"discipline\": \"collar_integer\", \"case\": \"random\", \"limit\": %u, \"params\": [%s]}\n",
                         setting.limit, setting.header.c_str());
        const uint32_t load = 45 + random.below(50);
        for (unsigned event = 0; event < kEpisode; ++event) {
            now_ns += random.chance(1) ? random.below(400'000'000) : random.below(2'000'000);
            const bool arrives = waiting == 0 || random.chance(load);
            core.top->now_ns = now_ns;
            const uint64_t clocks = core.settle();
            if (!core.stalling) total.update = std::max(total.update, clocks);
            if (arrives) arrive();
            else depart();
            for (const auto &left : library.numbers)
                if (!left.empty()) fail("random numbers are left over, " + where());
        }
        core.stalling = false;
        compare_counters();
        ++total.episodes;
    }
};

}  // namespace

int main(int argc, char **argv) {
    if (argc != 3 && argc != 4) {
        std::fprintf(stderr, "usage: random_collar PACKETS SEED [FOLDER]\n");
        return 2;
    }
    const uint64_t packets = std::strtoull(argv[1], nullptr, 10);
    Random random{std::strtoull(argv[2], nullptr, 10)};
    Library library{random};
    Core core;
    core.numbers = library.numbers;
    core.top->s_axil_wstrb = 15;
    core.top->s_axil_bready = core.top->s_axil_rready = 1;
    core.top->rst = 1;
    core.tick();
    core.tick();
    core.top->rst = 0;
    Total total;
    while (total.packets < packets) {
        Episode episode{Setting{random}, random, library, core, total};
        if (argc == 4) {
            const std::string path = std::string(argv[3]) + "/" + std::to_string(total.episodes) + ".jsonl";
            episode.record = std::fopen(path.c_str(), "w");
            if (episode.record == nullptr) fail(path + " cannot be written");
        }
        episode.run();
        if (episode.record != nullptr) std::fclose(episode.record);
    }
    std::printf("%" PRIu64 " packets in %" PRIu64 " episodes equal: %" PRIu64 " departed, %" PRIu64 " marked; dropped:", total.packets,
                total.episodes, total.departed, total.marks);
    for (unsigned cause = 0; cause < kCauses; ++cause) std::printf(" %s %" PRIu64, kName[cause], total.drops[cause]);
    std::printf("; clocks at most: decision %" PRIu64 ", departure %" PRIu64 ", updates %" PRIu64 "\n", total.decision, total.sample,
                total.update);
    return 0;
}

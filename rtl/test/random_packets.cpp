// Random packets, parameters and random numbers to the library and to a core, by turns: every decision, victim, candidate and
// departure has to be the same, and at the end of each episode the counters and the average.
//
//     random_packets PACKETS SEED [FOLDER]
//
// With a folder, each episode is written to it in the format of the conformance vectors, for other simulators.

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fairdrop.h>
#include <verilated.h>

#include "Vcore.h"
#include "harness.h"

namespace {

constexpr bool kChoke = CORE_CHOKE;
constexpr unsigned kEpisode = 2000;
constexpr unsigned kStuck = 200'000;
constexpr uint64_t kLinkBps = 8'000'000;
// Of the average, in packets: see rtl/README.md.
constexpr double kAverageTolerance = 1.0 / 32768;

// The library's parameters, and the registers that mean the same.
struct Setting {
    std::string described, header;
    fairdrop_params params;
    uint32_t words[18] = {};
    unsigned cell_size = 0, fifos = 1, flows = 1;

    void set(const char *name, const std::string &value) {
        fairdrop_error error;
        if (fairdrop_params_set(&params, name, value.c_str(), &error) < 0) fail(error.message);
        described += std::string(" ") + name + "=" + value;
        // "red.min_th" and "limit", which is no parameter of a vector.
        const std::string full = name;
        const size_t dot = full.find('.');
        const std::string owner = dot == std::string::npos ? (kChoke ? "choke_hardware" : "red") : full.substr(0, dot);
        const bool word = value.find_first_not_of("0123456789.eB-") != std::string::npos && value != "true" && value != "false";
        const std::string plain = value.back() == 'B' ? value.substr(0, value.size() - 1) : value;
        if (full == "limit") return;
        header += (header.empty() ? "" : ", ") + ("{\"owner\": \"" + owner + "\", \"name\": \"") +
                  full.substr(dot == std::string::npos ? 0 : dot + 1) + "\", \"value\": " + (word ? '"' + plain + '"' : plain) + "}";
    }
    // Parameters that the core has no switch for, at their defaults, so that a recording has all of them.
    void set_others(const char *discipline) {
        fairdrop_discipline found;
        size_t index = 0;
        while (fairdrop_discipline_at(index, &found) == FAIRDROP_STATUS_OK && std::string(found.name) != discipline) ++index;
        fairdrop_parameter one;
        for (size_t at = 0; fairdrop_parameter_at(index, at, &one) == FAIRDROP_STATUS_OK; ++at) {
            const std::string owner = one.table, name = one.name;
            if (owner.empty() || header.find("\"owner\": \"" + owner + "\", \"name\": \"" + name + "\"") != std::string::npos) continue;
            if (*one.default_text != 0) set((owner == discipline ? name : owner + "." + name).c_str(), one.default_text);
        }
    }
    void number(const char *name, double value) {
        char text[40];
        std::snprintf(text, sizeof text, "%.17g", value);
        set(name, text);
    }
    void flag(const char *name, bool on, unsigned bit) {
        set(name, on ? "true" : "false");
        words[0] |= uint32_t{on} << bit;
    }
    void fixed48(unsigned word, double value) {
        const auto scaled = static_cast<int64_t>(std::llround(std::ldexp(value, 32)));
        words[word] = static_cast<uint32_t>(scaled);
        words[word + 1] = static_cast<uint32_t>(scaled >> 32) & 0x1ffff;
    }
};

void choose_red(Setting &s, Random &random) {
    const unsigned limit = 4 + random.below(60);
    const unsigned shift = random.below(10);
    // Averages of weight 1 are lengths, and meet thresholds exactly. Others come near to short binary fractions, but are not
    // exact there in either arithmetic.
    const double off = shift == 0 ? 0 : (2 * random.below(8192) + 1) / 65536.0;
    const double min_th = random.below(2 * limit) / 4.0 + off, max_th = min_th + (1 + random.below(4 * limit)) / 4.0;
    const double max_p = random.of({0.02, 0.1, 0.125, 0.5, 0.75});
    const unsigned mean = random.of({500u, 1000u, 1500u});
    const bool gentle = random.chance(30), wait = random.chance(25), independent = !wait && random.chance(25);
    s.set("limit", std::to_string(limit) + "p");
    s.number("red.min_th", min_th);
    s.number("red.max_th", max_th);
    s.number("red.max_p", max_p);
    s.number("red.w_q", std::ldexp(1.0, -static_cast<int>(shift)));
    s.set("red.mean_packet_size", std::to_string(mean) + "B");
    s.words[0] = 1;
    s.flag("red.gentle", gentle, 1);
    s.flag("red.wait", wait, 2);
    s.flag("red.independent", independent, 3);
    for (const char *name : {"red.byte_mode", "red.ns2_compat"}) s.set(name, "false");
    s.flag("red.ecn", random.chance(30), 4);
    s.words[0] |= shift << 16 | 1 << 20;
    s.words[1] = limit;
    s.words[3] = static_cast<uint32_t>(std::lround(min_th * 65536));
    s.words[4] = static_cast<uint32_t>(std::lround(max_th * 65536));
    s.fixed48(5, (max_th - min_th) / max_p);
    const double slope = max_th / (1 - max_p);
    s.fixed48(7, max_th - max_p * slope);
    s.fixed48(9, slope);
    s.words[11] = static_cast<uint32_t>(mean * 8'000'000'000 / kLinkBps);
    s.flows = 1 + random.below(random.of({3u, 12u, 40u}));
}

void choose_choke(Setting &s, Random &random) {
    const unsigned memory = 1u << CORE_ADDRESS_BITS, list = random.chance(40) ? memory : CORE_BANKS + random.below(memory - CORE_BANKS);
    s.fifos = 1 + random.below(CORE_FIFOS);
    const unsigned set = s.fifos == 1 && CORE_FIFOS == 1 && CORE_BANKS == 1 ? random.below(3) : random.below(2);
    const unsigned marked = random.below(3), tries = random.chance(50) ? 0 : 1 + random.below(6);
    const bool in_packet = set != 2 && random.chance(20);
    s.cell_size = CORE_CHOPPED && random.chance(70) ? random.of({100u, 400u, 1000u}) : 0;
    s.set("schedule", "fixed");
    s.set("regions", "3");
    s.set("list_limit", std::to_string(list));
    s.set("fifos", std::to_string(s.fifos));
    s.set("banks", std::to_string(CORE_BANKS));
    s.set("addresses", set == 0 ? "occupied" : set == 1 ? "memory" : "linux_holes");
    s.set("marked", marked == 0 ? "reject" : marked == 1 ? "miss" : "blind");
    s.set("mark_bit", in_packet ? "packet" : "entry");
    s.set("max_tries", std::to_string(tries));
    const unsigned quota = random.chance(30) ? 1 + random.below(20) : 0;
    s.set("quota", std::to_string(quota));
    s.set("cell_size", std::to_string(s.cell_size) + "B");
    s.flag("unoccupied_misses", random.chance(30), 5);
    s.words[0] |= uint32_t{in_packet} << 6;
    s.flag("physical_length", random.chance(30), 7);
    s.flag("count_on_match", random.chance(30), 8);
    s.flag("mark_one_cell", random.chance(30), 9);
    s.words[0] = (s.words[0] & ~(15u << 20)) | set << 12 | marked << 14 | s.fifos << 20;
    s.words[1] |= list << 16;
    s.words[2] = quota | tries << 16;
    const unsigned candidates = random.below(CORE_MOST_CANDIDATES + 1);
    s.set("candidates", std::to_string(candidates));
    s.words[12] = candidates * 0x1111;
    s.words[13] = s.words[14] = s.words[15] = 0xffffffff;
}

struct Drop {
    uint64_t packet;
    unsigned cause;
    bool operator==(const Drop &other) const { return packet == other.packet && cause == other.cause; }
};

// What the library does with one event.
struct Library {
    Random &random;
    bool stuck_numbers;
    std::deque<uint64_t> numbers[2];
    std::vector<uint64_t> compared;
    std::vector<Drop> dropped;
    std::vector<uint64_t> memory;
    fairdrop_queue *queue = nullptr;

    explicit Library(Random &source) : random(source), stuck_numbers(false) {}

    void begin(const Setting &setting) {
        static const uint64_t key[2] = {0, 0};
        fairdrop_host host = {};
        fairdrop_error error;
        host.context = this;
        host.flow_key = key;
        host.dropped = [](void *self, const fairdrop_packet *packet, fairdrop_cause cause) {
            static_cast<Library *>(self)->dropped.push_back({packet->cookie, static_cast<unsigned>(cause)});
        };
        host.drawn = [](void *self, const fairdrop_packet *packet) {
            static_cast<Library *>(self)->compared.push_back(packet->cookie);
        };
        host.random = [](void *self, fairdrop_stream stream) {
            auto &library = *static_cast<Library *>(self);
            uint64_t number = library.random.next();
            // Some numbers are low enough that whole numbers below a bound are refused, or near it.
            if (library.stuck_numbers && stream == FAIRDROP_STREAM_CANDIDATE && library.random.chance(10)) number = library.random.below(3);
            library.numbers[stream == FAIRDROP_STREAM_CANDIDATE].push_back(number);
            return number;
        };
        const size_t size = fairdrop_size(&setting.params, &error);
        if (size == 0) fail(error.message);
        memory.assign((size + 7) / 8, 0);
        queue = fairdrop_init(memory.data(), memory.size() * 8, &setting.params, &host, &error);
        if (queue == nullptr) fail(error.message);
    }
    void clear() {
        compared.clear();
        dropped.clear();
    }
};

// The core, clock by clock.
struct Core {
    std::unique_ptr<VerilatedContext> context{new VerilatedContext};
    std::unique_ptr<Vcore> top{new Vcore{context.get()}};
    Random stalls{1};
    bool stalling = false;
    uint64_t clocks = 0;
    std::string setting;
    std::deque<uint64_t> *numbers = nullptr;
    bool took_arrival = false, took_request = false;
    std::vector<uint32_t> compared, decisions, departures;

    void tick() {
        top->clk = 0;
        const auto offered = [this](bool have) { return have && !(stalling && stalls.chance(30)); };
        top->s_axis_early_tvalid = offered(!numbers[0].empty());
        top->s_axis_early_tdata = numbers[0].empty() ? 0 : numbers[0].front();
        top->m_axis_decision_tready = offered(true);
        top->m_axis_departure_tready = offered(true);
#if CORE_CHOKE
        top->s_axis_candidate_tvalid = offered(!numbers[1].empty());
        top->s_axis_candidate_tdata = numbers[1].empty() ? 0 : numbers[1].front();
        top->m_axis_compared_tready = offered(true);
#endif
        top->eval();
        took_arrival = top->s_axis_arrival_tvalid && top->s_axis_arrival_tready;
        took_request = top->s_axis_request_tvalid && top->s_axis_request_tready;
        if (top->s_axis_early_tvalid && top->s_axis_early_tready) numbers[0].pop_front();
        if (top->m_axis_decision_tvalid && top->m_axis_decision_tready) decisions.push_back(top->m_axis_decision_tdata);
        if (top->m_axis_departure_tvalid && top->m_axis_departure_tready) departures.push_back(top->m_axis_departure_tdata);
#if CORE_CHOKE
        if (top->s_axis_candidate_tvalid && top->s_axis_candidate_tready) numbers[1].pop_front();
        if (top->m_axis_compared_tvalid && top->m_axis_compared_tready) compared.push_back(top->m_axis_compared_tdata);
#endif
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
    void begin(const Setting &setting) {
        top->rst = 0;
        stalling = false;
        this->setting = setting.described;
        for (unsigned word = 18; word-- > 0;) write(word, setting.words[word]);
        for (unsigned wait = 0; wait < kStuck && !top->s_axis_request_tready; ++wait) tick();
    }
    // Clocks from the arrival's to that of the decision.
    uint64_t arrive(uint64_t data) {
        top->s_axis_arrival_tdata = data;
        top->s_axis_arrival_tvalid = 1;
        uint64_t begun = 0;
        for (unsigned wait = 0; wait < kStuck; ++wait) {
            tick();
            if (took_arrival) {
                begun = clocks;
                top->s_axis_arrival_tvalid = 0;
            }
            if (!decisions.empty()) return clocks - begun;
        }
        fail("the core is stuck at an arrival, " + std::to_string(numbers[1].size()) + " numbers left, " + setting);
    }
    void request() {
        top->s_axis_request_tvalid = 1;
        for (unsigned wait = 0; wait < kStuck; ++wait) {
            tick();
            if (took_request) top->s_axis_request_tvalid = 0;
            if (!departures.empty()) return;
        }
        fail("the core is stuck at a request");
    }
    void clear() {
        compared.clear();
        decisions.clear();
        departures.clear();
    }
};

// Most clocks by draws and addresses read, of decisions without stalls.
std::map<std::pair<unsigned, unsigned>, uint64_t> most_clocks;

std::string list_of(const std::vector<uint64_t> &numbers) {
    std::string text;
    for (const uint64_t number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
    return "[" + text + "]";
}

std::string list_of(const std::vector<Drop> &drops) {
    static const char *const causes[] = {"overflow", "red_early", "red_forced", "match_arriving", "match_queued"};
    std::string text;
    for (const Drop &drop : drops)
        text += (text.empty() ? "[" : ", [") + std::to_string(drop.packet) + ", \"" + causes[drop.cause] + "\"]";
    return "[" + text + "]";
}

struct Episode {
    Setting setting;
    Random &random;
    Library &library;
    Core &core;
    uint64_t now_ns = 0, number = 0;
    std::map<uint32_t, uint64_t> place_to_packet;
    std::deque<uint64_t> fifo;
    std::map<uint64_t, bool> marked;
    uint64_t drops[5] = {}, marks = 0, departed = 0, tries = 0;
    std::FILE *record = nullptr;

    // The event's line: what arrived or left, the random numbers, and what the library did.
    void write_event(unsigned event, const std::string &of_type, const std::string &numbers, const std::string &outcome) {
        fairdrop_count backlog;
        double average = 0;
        fairdrop_backlog(library.queue, &backlog);
        fairdrop_average(library.queue, &average);
        std::fprintf(record,
                     "{\"event\": %u, \"time_ns\": %" PRIu64 ", %s, %s\"outcome\": {%s, \"backlog\": [%" PRIu64
                     "], \"internals\": {\"avg\": %.17g}}}\n",
                     event, now_ns, of_type.c_str(), numbers.c_str(), outcome.c_str(), backlog.packets, average);
    }

    std::string where() const { return "packet " + std::to_string(number) + " of" + setting.described; }

    uint64_t packet_at(uint32_t place) const {
        const auto found = place_to_packet.find(place);
        if (found == place_to_packet.end()) fail("no packet is at place " + std::to_string(place) + ", " + where());
        return found->second;
    }

    // What rtl/README.md states of a decision's clocks: numbers that are not refused, streams that do not stall.
    uint64_t most_clocks_of(size_t compared, unsigned read, unsigned cells) const {
        if (!kChoke) return 16;
        const unsigned draws = setting.words[12] & 15, words = 1u << (CORE_ADDRESS_BITS - 5);
        const unsigned set = setting.words[0] >> 12 & 3;
        const bool shared = CORE_FIFOS > 1, occupied = set == 0;
        const unsigned search = shared && occupied ? 2 * words : 0;
        // From the head on, the head itself follows three tries.
        const unsigned each = 6 + (CORE_CHOPPED || shared);
        return 22 + (set == 2 ? each - 1 : 0) * draws + 3 * draws + (each + search) * read + compared + (shared ? 6 * cells : cells - 1);
    }

    void arrive(unsigned event) {
        fairdrop_packet packet = {};
        // Ids that differ in one bit, for each bit, and others.
        const unsigned flow = random.below(setting.flows);
        packet.flow = flow == 0 ? 0 : flow <= CORE_ID_BITS ? 1u << (flow - 1) : 3 * flow;
        packet.cookie = number;
        packet.len = 40 + random.below(1461);
        packet.ecn = static_cast<uint8_t>(random.below(4));
        packet.traffic_class = static_cast<uint8_t>(random.below(setting.fifos));
        const unsigned cells = setting.cell_size == 0 ? 1 : (packet.len + setting.cell_size - 1) / setting.cell_size;
        if (fairdrop_enqueue(library.queue, &packet, now_ns) < 0) fail("the library refuses a packet");
        const unsigned read = static_cast<unsigned>(library.numbers[1].size());
        const std::string numbers = "\"random\": {\"early_drop\": " + hex_list(library.numbers[0]) + ", \"candidate\": " +
                                    hex_list(library.numbers[1]) + "}, ";
        tries += read;
        const uint64_t clocks =
            core.arrive(packet.flow | uint64_t{packet.len} << 24 | uint64_t{packet.ecn} << 40 |
                        uint64_t{packet.traffic_class} << 42 | uint64_t{cells} << 48);
        std::vector<uint64_t> compared;
        std::vector<Drop> dropped;
        for (const uint32_t candidate : core.compared) {
            compared.push_back(packet_at(candidate & 0xffff));
            if (candidate >> 16) dropped.push_back({compared.back(), FAIRDROP_CAUSE_MATCH_QUEUED});
        }
        const uint32_t decision = core.decisions.at(0), place = decision >> 16;
        if ((decision & 3) == 2) {
            dropped.push_back({number, decision >> 2 & 7});
        } else {
            if (kChoke) place_to_packet[place] = number;
            fifo.push_back(number);
            marked[number] = (decision & 3) == 1 || packet.ecn == 3;
            marks += (decision & 3) == 1;
        }
        if (compared != library.compared) fail("candidates, " + where());
        if (!(dropped == library.dropped)) fail("drops, " + where());
        for (const Drop &drop : dropped) ++drops[drop.cause];
        if (!core.stalling && !library.stuck_numbers) {
            const uint64_t bound = most_clocks_of(compared.size(), read, cells);
            if (clocks > bound)
                fail(std::to_string(clocks) + " clocks, " + std::to_string(bound) + " at most were stated, " + where());
            auto &most = most_clocks[{static_cast<unsigned>(compared.size()), read}];
            if (clocks > most) most = clocks;
        }
        if (record != nullptr) {
            const std::vector<Drop> marks_made((decision & 3) == 1, Drop{number, decision >> 2 & 7});
            write_event(event, "\"type\": \"enqueue\", \"id\": " + std::to_string(number) + ", \"flow\": " +
                        std::to_string(packet.flow) + ", \"len\": " + std::to_string(packet.len) + ", \"ecn\": " +
                        std::to_string(packet.ecn) + ", \"class\": " + std::to_string(packet.traffic_class), numbers,
                        "\"compared\": " + list_of(compared) + ", \"dropped\": " + list_of(library.dropped) + ", \"marked\": " +
                        list_of(marks_made));
        }
        ++number;
    }

    void depart(unsigned event) {
        fairdrop_packet packet = {};
        const bool sent = fairdrop_dequeue(library.queue, now_ns, &packet) == FAIRDROP_STATUS_OK;
        core.request();
        if (record != nullptr)
            write_event(event, "\"type\": \"dequeue\"", "",
                        sent ? "\"departed\": " + std::to_string(packet.cookie) : "\"dropped\": []");
        const uint32_t departure = core.departures.at(0);
        if (sent != !(departure >> 16)) fail("a departure, " + where());
        if (!sent) return;
        ++departed;
        uint64_t head = packet.cookie;
        if (kChoke) head = packet_at(departure & 0xffff);
        else {
            head = fifo.front();
            fifo.pop_front();
        }
        if (head != packet.cookie) fail("the packet that departs, " + where());
        if (marked[head] != (packet.ecn == 3)) fail("a mark, " + where());
        marked.erase(head);
    }

    void compare_counters() {
        const auto equal = [this](unsigned reading, uint64_t count, const char *name) {
            const uint64_t value = core.reading(reading);
            if (value != count) fail(std::string(name) + ": " + std::to_string(value) + " in the core, " +
                                     std::to_string(count) + " in the library, " + where());
        };
        fairdrop_counters counters;
        fairdrop_count backlog;
        fairdrop_stats(library.queue, &counters);
        fairdrop_backlog(library.queue, &backlog);
        static const char *const names[] = {"overflow", "red_early", "red_forced", "match_arriving", "match_queued"};
        equal(0, counters.arrived.packets, "arrived");
        equal(1, counters.departed.packets, "departed");
        for (unsigned cause = 0; cause < 5; ++cause) {
            fairdrop_count count;
            fairdrop_dropped(library.queue, static_cast<uint8_t>(cause), &count);
            equal(2 + cause, count.packets, names[cause]);
        }
        for (unsigned cause = 1; cause < 3; ++cause) {
            fairdrop_count count;
            fairdrop_marked(library.queue, static_cast<uint8_t>(cause), &count);
            equal(6 + cause, count.packets, "marked");
        }
        equal(17, backlog.packets, "waiting");
        if (kChoke) {
            equal(16, counters.drawn, "drawn");
            if (!library.stuck_numbers) equal(10, tries, "tries");
        }
        double average = 0;
        fairdrop_average(library.queue, &average);
        // The library adds those of all FIFOs.
        const double in_core = core.reading(19) / 65536.0;
        if (setting.fifos == 1 && std::fabs(average - in_core) > kAverageTolerance) fail("average, " + where());
    }

    void run() {
        library.begin(setting);
        // Vectors have no numbers that are refused.
        library.stuck_numbers = random.chance(10) && record == nullptr;
        core.begin(setting);
        core.stalling = random.chance(30);
        const uint32_t load = 30 + random.below(60), packet_ns = setting.words[11];
        if (record != nullptr)
            std::fprintf(record,
                         "{\"discipline\": \"%s\", \"case\": \"random\", \"limit\": %u, \"link_rate_bps\": %" PRIu64
                         ", \"params\": [%s]}\n",
                         kChoke ? "choke_hardware" : "red", setting.words[1] & 0xffff, kLinkBps, setting.header.c_str());
        for (unsigned event = 0; event < kEpisode; ++event) {
            now_ns += random.chance(2) ? uint64_t{packet_ns} * random.below(40) : random.below(2 * packet_ns);
            core.top->now_ns = now_ns;
            library.clear();
            core.clear();
            if (random.chance(load)) arrive(event);
            else depart(event);
            for (unsigned stream = 0; stream < 2; ++stream)
                if (!library.numbers[stream].empty())
                    fail(std::to_string(library.numbers[stream].size()) + " random numbers left of stream " +
                         (stream ? "candidate, " : "early_drop, ") + where());
        }
        core.stalling = false;
        compare_counters();
    }
};

}  // namespace

int main(int argc, char **argv) {
    if (argc != 3 && argc != 4) {
        std::fprintf(stderr, "usage: random_packets PACKETS SEED [FOLDER]\n");
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
    uint64_t arrived = 0, drops[5] = {}, marks = 0, departed = 0, tries = 0, episodes = 0;
    while (arrived < packets) {
        Setting setting;
        fairdrop_error error;
        if (fairdrop_params_init(&setting.params, kChoke ? "choke_hardware" : "red", kLinkBps, &error) < 0) fail(error.message);
        choose_red(setting, random);
        if (kChoke) choose_choke(setting, random);
        setting.set_others(kChoke ? "choke_hardware" : "red");
        Episode episode{setting, random, library, core};
        if (argc == 4) {
            const std::string path = std::string(argv[3]) + "/" + std::to_string(episodes) + ".jsonl";
            episode.record = std::fopen(path.c_str(), "w");
            if (episode.record == nullptr) fail(path + " cannot be written");
        }
        episode.run();
        if (episode.record != nullptr) std::fclose(episode.record);
        arrived += episode.number;
        departed += episode.departed;
        marks += episode.marks;
        tries += episode.tries;
        for (unsigned cause = 0; cause < 5; ++cause) drops[cause] += episode.drops[cause];
        ++episodes;
    }
    std::printf("%" PRIu64 " packets in %" PRIu64 " episodes equal: %" PRIu64 " departed, %" PRIu64 " marked, %" PRIu64
                " addresses read; dropped: overflow %" PRIu64 ", early %" PRIu64 ", forced %" PRIu64 ", arriving %" PRIu64
                ", queued %" PRIu64 "\n",
                arrived, episodes, departed, marks, tries, drops[0], drops[1], drops[2], drops[3], drops[4]);
    for (const auto &entry : most_clocks)
        std::printf("  clocks compared=%u read=%u most=%" PRIu64 "\n", entry.first.first, entry.first.second, entry.second);
    return 0;
}

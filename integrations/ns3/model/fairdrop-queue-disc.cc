// SPDX-License-Identifier: MIT OR Apache-2.0

#include "fairdrop-queue-disc.h"

#include "fairdrop.h"

#include "ns3/abort.h"
#include "ns3/enum.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/ipv6-queue-disc-item.h"
#include "ns3/log.h"
#include "ns3/net-device-queue-interface.h"
#include "ns3/net-device.h"
#include "ns3/queue.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tag.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>
#include <unordered_map>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("FairdropQueueDisc");

NS_OBJECT_ENSURE_REGISTERED(FairdropQueueDisc);

namespace
{

constexpr uint8_t CONGESTION_EXPERIENCED = 3;
constexpr uint8_t PROTOCOL_TCP = 6;
constexpr uint8_t PROTOCOL_UDP = 17;

uint64_t
NowNs()
{
    return static_cast<uint64_t>(Simulator::Now().GetNanoSeconds());
}

uint8_t
DsField(const QueueDiscItem& item)
{
    uint8_t field = 0;
    item.GetUint8Value(QueueItem::IP_DSFIELD, field);
    return field;
}

/// The rate that an edge of CSFQ wrote on a packet, for the queues after it.
class FairdropLabelTag : public Tag
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::FairdropLabelTag")
                                .SetParent<Tag>()
                                .SetGroupName("TrafficControl")
                                .AddConstructor<FairdropLabelTag>();
        return tid;
    }

    TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

    uint32_t GetSerializedSize() const override
    {
        return sizeof m_label;
    }

    void Serialize(TagBuffer buffer) const override
    {
        buffer.WriteU16(m_label);
    }

    void Deserialize(TagBuffer buffer) override
    {
        m_label = buffer.ReadU16();
    }

    void Print(std::ostream& out) const override
    {
        out << "label=" << m_label;
    }

    uint16_t m_label = 0; ///< 0: none.
};

NS_OBJECT_ENSURE_REGISTERED(FairdropLabelTag);

/// What a flow can be made of. Addresses of IPv4 take the first four bytes.
struct Endpoints
{
    uint8_t source[16] = {};
    uint8_t destination[16] = {};
    uint8_t ports[4] = {};
    uint8_t protocol = 0;

    explicit Endpoints(const QueueDiscItem& item)
    {
        bool whole = true;
        if (auto ipv4 = dynamic_cast<const Ipv4QueueDiscItem*>(&item))
        {
            const auto& header = ipv4->GetHeader();
            header.GetSource().Serialize(source);
            header.GetDestination().Serialize(destination);
            protocol = header.GetProtocol();
            whole = header.IsLastFragment() && header.GetFragmentOffset() == 0;
        }
        else if (auto ipv6 = dynamic_cast<const Ipv6QueueDiscItem*>(&item))
        {
            const auto& header = ipv6->GetHeader();
            header.GetSource().Serialize(source);
            header.GetDestination().Serialize(destination);
            protocol = header.GetNextHeader();
        }
        else
        {
            // Not IP, ARP for example: all packets of a protocol are a flow.
            source[0] = static_cast<uint8_t>(item.GetProtocol() >> 8);
            source[1] = static_cast<uint8_t>(item.GetProtocol());
        }
        if (whole && (protocol == PROTOCOL_TCP || protocol == PROTOCOL_UDP) && item.GetPacket()->GetSize() >= sizeof ports)
        {
            item.GetPacket()->CopyData(ports, sizeof ports);
        }
    }
};

/// Splits "limit=300p schedule=[1, 2, 4]" at blanks outside brackets.
std::vector<std::string>
SplitWords(const std::string& text)
{
    std::vector<std::string> words(1);
    bool inList = false;
    for (char letter : text)
    {
        inList = letter == '[' || (inList && letter != ']');
        if (!inList && std::isspace(static_cast<unsigned char>(letter)))
        {
            if (!words.back().empty())
            {
                words.emplace_back();
            }
        }
        else
        {
            words.back() += letter;
        }
    }
    if (words.back().empty())
    {
        words.pop_back();
    }
    return words;
}

/// The place of a discipline in the catalogue.
size_t
FindDiscipline(const std::string& name)
{
    fairdrop_discipline discipline;
    size_t at = 0;
    while (fairdrop_discipline_at(at, &discipline) == FAIRDROP_STATUS_OK && name != discipline.name)
    {
        ++at;
    }
    return at;
}

/// The number in "300p".
uint32_t
PacketsIn(const std::string& text)
{
    return static_cast<uint32_t>(std::strtod(text.c_str(), nullptr));
}

uint32_t
DefaultLimit(size_t discipline)
{
    fairdrop_parameter parameter;
    for (size_t at = 0; fairdrop_parameter_at(discipline, at, &parameter) == FAIRDROP_STATUS_OK; ++at)
    {
        if (std::strcmp(parameter.name, "limit") == 0)
        {
            return PacketsIn(parameter.default_text);
        }
    }
    return 0;
}

} // namespace

/**
 * Where packets lie while fairdrop decides which leaves next. QueueDisc counts by the traces of such a queue.
 */
class FairdropWaiting : public Queue<QueueDiscItem>
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::FairdropWaiting")
                                .SetParent<Queue<QueueDiscItem>>()
                                .SetGroupName("TrafficControl")
                                .AddConstructor<FairdropWaiting>();
        return tid;
    }

    FairdropWaiting()
    {
        // fairdrop has its own limit.
        SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, std::numeric_limits<uint32_t>::max()));
    }

    void Put(uint64_t cookie, Ptr<QueueDiscItem> item)
    {
        DoEnqueue(GetContainer().end(), item, m_places[cookie]);
    }

    Ptr<QueueDiscItem> Take(uint64_t cookie)
    {
        auto place = m_places.find(cookie);
        NS_ABORT_MSG_IF(place == m_places.end(), "fairdrop gave back a packet that does not wait");
        auto item = DoDequeue(place->second);
        m_places.erase(place);
        return item;
    }

    Ptr<const QueueDiscItem> Show(uint64_t cookie) const
    {
        auto place = m_places.find(cookie);
        return place == m_places.end() ? nullptr : DoPeek(place->second);
    }

    bool Enqueue(Ptr<QueueDiscItem>) override
    {
        NS_ABORT_MSG("packets enter and leave this queue through its FairdropQueueDisc");
    }

    Ptr<QueueDiscItem> Dequeue() override
    {
        NS_ABORT_MSG("packets enter and leave this queue through its FairdropQueueDisc");
    }

    Ptr<QueueDiscItem> Remove() override
    {
        NS_ABORT_MSG("packets enter and leave this queue through its FairdropQueueDisc");
    }

    Ptr<const QueueDiscItem> Peek() const override
    {
        return DoPeek(GetContainer().begin());
    }

  private:
    std::unordered_map<uint64_t, Iterator> m_places; ///< By cookie.
};

NS_OBJECT_ENSURE_REGISTERED(FairdropWaiting);

TypeId
FairdropQueueDisc::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::FairdropQueueDisc")
            .SetParent<QueueDisc>()
            .SetGroupName("TrafficControl")
            .AddConstructor<FairdropQueueDisc>()
            .AddAttribute("Discipline",
                          "Name of the discipline in fairdrop's catalogue.",
                          StringValue("choke"),
                          MakeStringAccessor(&FairdropQueueDisc::m_discipline),
                          MakeStringChecker())
            .AddAttribute("Parameters",
                          "Parameters of the discipline, as NAME=VALUE with blanks between them: \"limit=300p min_th=100p\".",
                          StringValue(""),
                          MakeStringAccessor(&FairdropQueueDisc::m_parameters),
                          MakeStringChecker())
            .AddAttribute("MaxSize",
                          "Packets that may wait, another way to give the parameter limit; 0p leaves it to Parameters.",
                          QueueSizeValue(QueueSize("0p")),
                          MakeQueueSizeAccessor(&FairdropQueueDisc::m_maxPackets),
                          MakeQueueSizeChecker())
            .AddAttribute("LinkBandwidth",
                          "Rate of the link, which some disciplines reckon with; 0bps is the DataRate of the device.",
                          DataRateValue(DataRate(0)),
                          MakeDataRateAccessor(&FairdropQueueDisc::m_rate),
                          MakeDataRateChecker())
            .AddAttribute("FlowKey",
                          "What packets of a flow have in common, where no packet filter classifies them.",
                          EnumValue(FIVE_TUPLE),
                          MakeEnumAccessor<FlowKey>(&FairdropQueueDisc::m_flowKey),
                          MakeEnumChecker(FIVE_TUPLE,
                                          "FiveTuple",
                                          SOURCE,
                                          "Source",
                                          DESTINATION,
                                          "Destination",
                                          SOURCE_DESTINATION,
                                          "SourceDestination"))
            .AddTraceSource("Internal",
                            "A value that the discipline decides by has changed.",
                            MakeTraceSourceAccessor(&FairdropQueueDisc::m_traceInternal),
                            "ns3::FairdropQueueDisc::InternalTracedCallback")
            .AddTraceSource("Drawn",
                            "A waiting packet is compared with an arriving one. Sinks must not use the queue disc.",
                            MakeTraceSourceAccessor(&FairdropQueueDisc::m_traceDrawn),
                            "ns3::QueueDiscItem::TracedCallback");
    return tid;
}

std::vector<std::string>
FairdropQueueDisc::GetDisciplines()
{
    std::vector<std::string> names;
    fairdrop_discipline discipline;
    while (fairdrop_discipline_at(names.size(), &discipline) == FAIRDROP_STATUS_OK)
    {
        names.emplace_back(discipline.name);
    }
    return names;
}

// The size policy for many queues is the one under which MaxSize is not that of the internal queue.
FairdropQueueDisc::FairdropQueueDisc()
    : QueueDisc(QueueDiscSizePolicy::MULTIPLE_QUEUES, QueueSizeUnit::PACKETS),
      m_random(CreateObject<UniformRandomVariable>()),
      m_hashKey{},
      m_queue(nullptr),
      m_arrivals(0),
      m_marksGiven(fairdrop_cause_count()),
      m_heldBack(false)
{
}

FairdropQueueDisc::~FairdropQueueDisc()
{
}

void
FairdropQueueDisc::DoDispose()
{
    m_tick.Cancel();
    m_queue = nullptr;
    m_block.clear();
    m_waiting = nullptr;
    m_random = nullptr;
    QueueDisc::DoDispose();
}

int64_t
FairdropQueueDisc::AssignStreams(int64_t stream)
{
    NS_ABORT_MSG_IF(m_queue, "AssignStreams of a FairdropQueueDisc is to be called before the simulation begins");
    m_random->SetStream(stream);
    return 1;
}

const fairdrop_queue*
FairdropQueueDisc::GetQueue() const
{
    return m_queue;
}

std::vector<std::pair<std::string, double>>
FairdropQueueDisc::GetInternals() const
{
    std::vector<std::pair<std::string, double>> found;
    if (m_queue)
    {
        fairdrop_internals(
            m_queue,
            [](void* context, const char* name, double value) {
                static_cast<decltype(found)*>(context)->emplace_back(name, value);
            },
            &found);
    }
    return found;
}

uint64_t
FairdropQueueDisc::GetRate() const
{
    if (m_rate.GetBitRate() > 0)
    {
        return m_rate.GetBitRate();
    }
    DataRateValue rate(DataRate(0));
    auto interface = GetNetDeviceQueueInterface();
    auto device = interface ? interface->GetObject<NetDevice>() : nullptr;
    if (device)
    {
        device->GetAttributeFailSafe("DataRate", rate);
    }
    return rate.Get().GetBitRate();
}

std::string
FairdropQueueDisc::Explain(const fairdrop_error& error, const std::string& name) const
{
    std::ostringstream text;
    text << error.message;
    if (error.status == FAIRDROP_STATUS_UNKNOWN_PARAMETER && std::strstr(error.message, "no parameter"))
    {
        text << "; there are";
        fairdrop_parameter parameter;
        const auto discipline = FindDiscipline(m_discipline);
        for (size_t at = 0; fairdrop_parameter_at(discipline, at, &parameter) == FAIRDROP_STATUS_OK; ++at)
        {
            text << ' ' << parameter.name;
        }
    }
    return name + ": " + text.str();
}

std::string
FairdropQueueDisc::MakeParams(fairdrop_params& params, uint32_t& limit) const
{
    if (fairdrop_abi_version() != FAIRDROP_ABI_VERSION)
    {
        return "fairdrop.h and the library are of different versions";
    }
    fairdrop_error error;
    // Any rate will do to find out whether there is such a discipline, which is the more likely mistake.
    if (fairdrop_params_init(&params, m_discipline.c_str(), 1, &error) < 0)
    {
        return Explain(error, "Discipline");
    }
    const auto rate = GetRate();
    if (rate == 0)
    {
        return "LinkBandwidth: there is no device whose DataRate would be the rate of the link; set it, \"1Mbps\" for example";
    }
    fairdrop_params_init(&params, m_discipline.c_str(), rate, nullptr);
    limit = DefaultLimit(FindDiscipline(m_discipline));
    if (m_maxPackets.GetValue() > 0)
    {
        limit = m_maxPackets.GetValue();
        if (m_maxPackets.GetUnit() != QueueSizeUnit::PACKETS)
        {
            return "MaxSize: the limit of a discipline is in packets, \"300p\" for example";
        }
        if (fairdrop_params_set_number(&params, "limit", limit, &error) < 0)
        {
            return Explain(error, "MaxSize");
        }
    }
    for (const auto& word : SplitWords(m_parameters))
    {
        const auto equals = word.find('=');
        if (equals == std::string::npos)
        {
            return "Parameters: \"" + word + "\" is not valid: NAME=VALUE with blanks between them, \"limit=300p min_th=100p\" for example";
        }
        const auto name = word.substr(0, equals);
        const auto value = word.substr(equals + 1);
        if (fairdrop_params_set(&params, name.c_str(), value.c_str(), &error) < 0)
        {
            return Explain(error, "Parameters");
        }
        if (name == "limit")
        {
            if (m_maxPackets.GetValue() > 0)
            {
                return "Parameters: limit is also given by MaxSize; only one of them is valid";
            }
            limit = PacketsIn(value);
        }
    }
    if (fairdrop_size(&params, &error) == 0)
    {
        return Explain(error, "Parameters");
    }
    return "";
}

std::string
FairdropQueueDisc::FindProblem() const
{
    fairdrop_params params;
    uint32_t limit;
    return MakeParams(params, limit);
}

bool
FairdropQueueDisc::CheckConfig()
{
    const auto problem = FindProblem();
    NS_ABORT_MSG_IF(!problem.empty(), "ns3::FairdropQueueDisc: " << problem);
    NS_ABORT_MSG_IF(GetNQueueDiscClasses() > 0, "ns3::FairdropQueueDisc has no classes: install it without child queue discs");
    NS_ABORT_MSG_IF(GetNInternalQueues() > 0, "ns3::FairdropQueueDisc makes its internal queue itself: install it without one");
    m_waiting = CreateObject<FairdropWaiting>();
    AddInternalQueue(m_waiting);
    return true;
}

void
FairdropQueueDisc::InitializeParams()
{
    fairdrop_params params;
    uint32_t limit;
    MakeParams(params, limit);
    SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, limit));

    fairdrop_host host{};
    host.context = this;
    host.dropped = Dropped;
    host.drawn = Drawn;
    host.hosts = Hosts;
    const uint64_t flowKey[2] = {DrawBits(), DrawBits()};
    host.flow_key = flowKey;
    host.seed = DrawBits();
    m_hashKey[0] = DrawBits();
    m_hashKey[1] = DrawBits();

    fairdrop_error error;
    const auto size = fairdrop_size(&params, &error);
    m_block.resize(size / sizeof(uint64_t) + 1);
    m_queue = fairdrop_init(m_block.data(), m_block.size() * sizeof(uint64_t), &params, &host, &error);
    NS_ABORT_MSG_IF(!m_queue, "ns3::FairdropQueueDisc: " << error.message);
    ScheduleTick();
}

uint64_t
FairdropQueueDisc::DrawBits()
{
    const auto half = [this] { return m_random->GetInteger(0, std::numeric_limits<uint32_t>::max()); };
    const uint64_t high = half();
    return high << 32 | half();
}

uint64_t
FairdropQueueDisc::FlowOf(Ptr<QueueDiscItem> item)
{
    if (GetNPacketFilters() > 0)
    {
        const auto match = Classify(item);
        if (match != PacketFilter::PF_NO_MATCH)
        {
            return static_cast<uint32_t>(match);
        }
    }
    const Endpoints ends(*item);
    uint8_t key[sizeof ends.source + sizeof ends.destination + sizeof ends.ports + 1] = {};
    auto at = key;
    if (m_flowKey != DESTINATION)
    {
        std::memcpy(at, ends.source, sizeof ends.source);
    }
    at += sizeof ends.source;
    if (m_flowKey != SOURCE)
    {
        std::memcpy(at, ends.destination, sizeof ends.destination);
    }
    at += sizeof ends.destination;
    if (m_flowKey == FIVE_TUPLE)
    {
        std::memcpy(at, ends.ports, sizeof ends.ports);
        at[sizeof ends.ports] = ends.protocol;
    }
    return fairdrop_hash(m_hashKey[0], m_hashKey[1], key, sizeof key);
}

void
FairdropQueueDisc::Hosts(void* context, const fairdrop_packet*, fairdrop_hosts* hosts)
{
    const auto disc = static_cast<const FairdropQueueDisc*>(context);
    const Endpoints ends(*disc->m_arriving);
    const auto hash = [disc](const uint8_t(&address)[16]) {
        return fairdrop_hash(disc->m_hashKey[0], disc->m_hashKey[1], address, sizeof address);
    };
    hosts->source = hash(ends.source);
    hosts->destination = hash(ends.destination);
}

void
FairdropQueueDisc::Dropped(void* context, const fairdrop_packet* packet, fairdrop_cause cause)
{
    // Sinks of traces may ask the queue, which callbacks must not: they hear of it when the call has ended.
    static_cast<FairdropQueueDisc*>(context)->m_drops.push_back({packet->cookie, cause});
}

void
FairdropQueueDisc::Drawn(void* context, const fairdrop_packet* candidate)
{
    const auto disc = static_cast<FairdropQueueDisc*>(context);
    if (!disc->m_traceDrawn.IsEmpty())
    {
        disc->m_traceDrawn(disc->m_waiting->Show(candidate->cookie));
    }
}

const char*
FairdropQueueDisc::TakeDrops(uint64_t arriving)
{
    const char* why = nullptr;
    for (const auto& drop : m_drops)
    {
        const auto reason = fairdrop_cause_name(drop.cause);
        if (drop.cookie == arriving)
        {
            why = reason;
        }
        else
        {
            DropAfterDequeue(m_waiting->Take(drop.cookie), reason);
        }
    }
    m_drops.clear();
    return why;
}

bool
FairdropQueueDisc::DoEnqueue(Ptr<QueueDiscItem> item)
{
    NS_LOG_FUNCTION(this << item);
    const auto field = DsField(*item);
    fairdrop_packet packet{};
    packet.flow = FlowOf(item);
    packet.cookie = ++m_arrivals;
    packet.len = item->GetSize();
    FairdropLabelTag label;
    item->GetPacket()->PeekPacketTag(label);
    packet.label = label.m_label;
    packet.traffic_class = field >> 2;
    packet.ecn = field & 3;
    m_arriving = item;
    const auto status = fairdrop_enqueue(m_queue, &packet, NowNs());
    m_arriving = nullptr;
    NS_ABORT_MSG_IF(status < 0, "fairdrop refused a packet of " << packet.len << " bytes; valid: up to " << FAIRDROP_MAX_LEN);
    const auto reason = TakeDrops(m_arrivals);
    if (reason)
    {
        DropBeforeEnqueue(item, reason);
    }
    else
    {
        m_waiting->Put(m_arrivals, item);
    }
    TraceChanges();
    ScheduleTick();
    return reason == nullptr;
}

Ptr<QueueDiscItem>
FairdropQueueDisc::DoDequeue()
{
    NS_LOG_FUNCTION(this);
    fairdrop_packet packet;
    const auto status = fairdrop_dequeue(m_queue, NowNs(), &packet);
    TakeDrops(0);
    Ptr<QueueDiscItem> item;
    if (status == FAIRDROP_STATUS_OK)
    {
        item = m_waiting->Take(packet.cookie);
        if (packet.label > 0)
        {
            FairdropLabelTag label;
            label.m_label = packet.label;
            item->GetPacket()->ReplacePacketTag(label);
        }
        if (packet.ecn == CONGESTION_EXPERIENCED && (DsField(*item) & 3) != CONGESTION_EXPERIENCED)
        {
            Mark(item, NextMarkReason());
        }
    }
    m_heldBack = !item && m_waiting->GetNPackets() > 0;
    TraceChanges();
    ScheduleTick();
    return item;
}

/// A marked packet does not say why. The causes add up; which packet had which is known only where one cause marks.
const char*
FairdropQueueDisc::NextMarkReason()
{
    uint8_t cause = 0;
    fairdrop_count count;
    while (fairdrop_marked(m_queue, cause, &count) == FAIRDROP_STATUS_OK)
    {
        if (count.packets > m_marksGiven[cause])
        {
            ++m_marksGiven[cause];
            return fairdrop_cause_name(cause);
        }
        ++cause;
    }
    return "marked";
}

void
FairdropQueueDisc::TraceChanges()
{
    if (m_traceInternal.IsEmpty())
    {
        return;
    }
    const auto before = std::exchange(m_shown, GetInternals());
    for (size_t at = 0; at < m_shown.size(); ++at)
    {
        if (at >= before.size() || before[at] != m_shown[at])
        {
            m_traceInternal(m_shown[at].first, m_shown[at].second);
        }
    }
}

void
FairdropQueueDisc::ScheduleTick()
{
    uint64_t deadlineNs;
    if (fairdrop_deadline(m_queue, &deadlineNs) != FAIRDROP_STATUS_OK)
    {
        m_tick.Cancel();
        return;
    }
    const auto deadline = std::max(NanoSeconds(deadlineNs), Simulator::Now());
    if (!m_tick.IsPending() || TimeStep(m_tick.GetTs()) != deadline)
    {
        m_tick.Cancel();
        m_tick = Simulator::Schedule(deadline - Simulator::Now(), &FairdropQueueDisc::Tick, this);
    }
}

void
FairdropQueueDisc::Tick()
{
    NS_LOG_FUNCTION(this);
    fairdrop_tick(m_queue, NowNs());
    TakeDrops(0);
    TraceChanges();
    // A child of another queue disc has no callback: its parent asks it.
    if (m_heldBack && GetSendCallback())
    {
        Run();
    }
    ScheduleTick();
}

} // namespace ns3

// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef FAIRDROP_QUEUE_DISC_H
#define FAIRDROP_QUEUE_DISC_H

#include "ns3/data-rate.h"
#include "ns3/event-id.h"
#include "ns3/queue-disc.h"
#include "ns3/random-variable-stream.h"
#include "ns3/traced-callback.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Of fairdrop.h, which users of this header do not need.
enum fairdrop_cause : uint8_t;
struct fairdrop_error;
struct fairdrop_hosts;
struct fairdrop_packet;
struct fairdrop_params;
struct fairdrop_queue;

namespace ns3
{

class FairdropWaiting;

/**
 * Any queue discipline of fairdrop, by name: the CHOKe family, RED, PIE, CoDel, SFB, FRED, CSFQ, FQ-CoDel, CAKE, COLLAR and the rest.
 *
 * Drop reasons and mark reasons are fairdrop's causes ("match_queued", "red_early"). A packet is marked when it leaves. The
 * discipline's random numbers start from numbers of an ns-3 stream, so that RngRun and AssignStreams determine a run.
 */
class FairdropQueueDisc : public QueueDisc
{
  public:
    /// What packets of one flow have in common, where no packet filter says it.
    enum FlowKey
    {
        FIVE_TUPLE,         ///< Addresses, protocol and ports; fragments have no ports.
        SOURCE,             ///< The address a packet comes from.
        DESTINATION,        ///< The address it goes to.
        SOURCE_DESTINATION, ///< Both.
    };

    /// A value that the discipline decides by has changed.
    typedef void (*InternalTracedCallback)(const std::string& name, double value);

    static TypeId GetTypeId();

    /// Names that the attribute Discipline takes.
    static std::vector<std::string> GetDisciplines();

    FairdropQueueDisc();
    ~FairdropQueueDisc() override;

    /**
     * What is wrong with the attributes and what would be valid, in one sentence; empty when they are valid.
     *
     * The simulation ends with this sentence if it begins with wrong attributes.
     */
    std::string FindProblem() const;

    /**
     * Makes the discipline's random numbers start from this stream; to be called before the simulation begins.
     *
     * \return the number of streams taken
     */
    int64_t AssignStreams(int64_t stream);

    /// The values that the discipline decides by, with the names of its publication ("avg", "p").
    std::vector<std::pair<std::string, double>> GetInternals() const;

    /// The queue for questions through fairdrop.h (fairdrop_stats, fairdrop_dropped); null before the simulation begins.
    const fairdrop_queue* GetQueue() const;

  protected:
    void DoDispose() override;

  private:
    struct Drop
    {
        uint64_t cookie;
        fairdrop_cause cause;
    };

    bool DoEnqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> DoDequeue() override;
    bool CheckConfig() override;
    void InitializeParams() override;

    uint64_t GetRate() const;
    /// Writes the parameters and the packets that may wait; returns what FindProblem does.
    std::string MakeParams(fairdrop_params& params, uint32_t& limit) const;
    std::string Explain(const fairdrop_error& error, const std::string& name) const;
    uint64_t DrawBits();
    uint64_t FlowOf(Ptr<QueueDiscItem> item);
    /// Drops what the last call of the library dropped of what waited; returns why it dropped the arriving packet, or null.
    const char* TakeDrops(uint64_t arriving);
    const char* NextMarkReason();
    void TraceChanges();
    void ScheduleTick();
    void Tick();

    static void Dropped(void* context, const fairdrop_packet* packet, fairdrop_cause cause);
    static void Drawn(void* context, const fairdrop_packet* candidate);
    static void Hosts(void* context, const fairdrop_packet* packet, fairdrop_hosts* hosts);

    std::string m_discipline;
    std::string m_parameters;
    QueueSize m_maxPackets;
    DataRate m_rate;
    FlowKey m_flowKey;

    Ptr<UniformRandomVariable> m_random;
    uint64_t m_hashKey[2];         ///< Makes flows and hosts of addresses.
    std::vector<uint64_t> m_block; ///< Where the queue lives.
    fairdrop_queue* m_queue;
    Ptr<FairdropWaiting> m_waiting;
    Ptr<QueueDiscItem> m_arriving;
    uint64_t m_arrivals;
    std::vector<Drop> m_drops;
    std::vector<uint64_t> m_marksGiven; ///< By cause.
    std::vector<std::pair<std::string, double>> m_shown;
    bool m_heldBack; ///< A shaper gave no packet although some wait.
    EventId m_tick;

    TracedCallback<const std::string&, double> m_traceInternal;
    TracedCallback<Ptr<const QueueDiscItem>> m_traceDrawn;
};

} // namespace ns3

#endif // FAIRDROP_QUEUE_DISC_H

// SPDX-License-Identifier: MIT OR Apache-2.0

#ifndef FAIRDROP_HELPER_H
#define FAIRDROP_HELPER_H

#include "ns3/net-device-container.h"
#include "ns3/object-factory.h"
#include "ns3/queue-disc-container.h"

#include <cstdint>
#include <string>

namespace ns3
{

/// Installs one discipline of fairdrop as the root queue disc of devices.
class FairdropHelper
{
  public:
    /**
     * \param discipline a name of the catalogue, "choke" for example
     * \param parameters NAME=VALUE with blanks between them, "limit=300p min_th=100p" for example
     */
    explicit FairdropHelper(const std::string& discipline, const std::string& parameters = "");

    /// Sets any other attribute of FairdropQueueDisc.
    void SetAttribute(const std::string& name, const AttributeValue& value);

    QueueDiscContainer Install(const NetDeviceContainer& devices) const;

    /**
     * Gives each queue disc of fairdrop in `discs` a random stream of its own, from `stream` on.
     *
     * \return the number of streams taken
     */
    static int64_t AssignStreams(const QueueDiscContainer& discs, int64_t stream);

  private:
    ObjectFactory m_factory;
};

} // namespace ns3

#endif // FAIRDROP_HELPER_H

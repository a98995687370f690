// SPDX-License-Identifier: MIT OR Apache-2.0

#include "fairdrop-helper.h"

#include "ns3/abort.h"
#include "ns3/fairdrop-queue-disc.h"
#include "ns3/node.h"
#include "ns3/string.h"
#include "ns3/traffic-control-layer.h"

namespace ns3
{

FairdropHelper::FairdropHelper(const std::string& discipline, const std::string& parameters)
{
    m_factory.SetTypeId(FairdropQueueDisc::GetTypeId());
    m_factory.Set("Discipline", StringValue(discipline));
    m_factory.Set("Parameters", StringValue(parameters));
}

void
FairdropHelper::SetAttribute(const std::string& name, const AttributeValue& value)
{
    m_factory.Set(name, value);
}

QueueDiscContainer
FairdropHelper::Install(const NetDeviceContainer& devices) const
{
    QueueDiscContainer discs;
    for (auto device = devices.Begin(); device != devices.End(); ++device)
    {
        auto layer = (*device)->GetNode()->GetObject<TrafficControlLayer>();
        NS_ABORT_MSG_IF(!layer, "FairdropHelper: install the internet stack on the node first");
        // The internet stack may have put its default there, when addresses were assigned.
        if (layer->GetRootQueueDiscOnDevice(*device))
        {
            layer->DeleteRootQueueDiscOnDevice(*device);
        }
        auto disc = m_factory.Create<QueueDisc>();
        layer->SetRootQueueDiscOnDevice(*device, disc);
        discs.Add(disc);
    }
    return discs;
}

int64_t
FairdropHelper::AssignStreams(const QueueDiscContainer& discs, int64_t stream)
{
    auto next = stream;
    for (auto disc = discs.Begin(); disc != discs.End(); ++disc)
    {
        if (auto ours = DynamicCast<FairdropQueueDisc>(*disc))
        {
            next += ours->AssignStreams(next);
        }
    }
    return next - stream;
}

} // namespace ns3

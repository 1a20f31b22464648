// Determines whether an address is public, so that a source URL may lead to it.
import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** IPv4 blocks that are not, or not only, the public internet (IANA special-purpose registry). */
const REFUSED_V4: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8], // This network; Linux connects 0.0.0.0 to itself.
  ['10.0.0.0', 8], // Private.
  ['100.64.0.0', 10], // Carrier NAT; some clouds keep their metadata service here.
  ['127.0.0.0', 8], // Loopback.
  ['168.63.129.16', 32], // Public by its range, but the host's own agent inside Azure.
  ['169.254.0.0', 16], // Link-local; the metadata service of most clouds.
  ['172.16.0.0', 12], // Private.
  ['192.0.0.0', 24], // Protocol assignments.
  ['192.0.2.0', 24], // Documentation.
  ['192.88.99.0', 24], // 6to4 relays.
  ['192.168.0.0', 16], // Private.
  ['198.18.0.0', 15], // Benchmarks.
  ['198.51.100.0', 24], // Documentation.
  ['203.0.113.0', 24], // Documentation.
  ['224.0.0.0', 4], // Multicast.
  ['240.0.0.0', 4], // Reserved, and broadcast.
]

/** All IPv6 addresses assigned to the public internet. Those that embed or map IPv4 are outside. */
const GLOBAL_V6 = ['2000::', 3] as const

/** Blocks within `GLOBAL_V6` that are not public. */
const REFUSED_V6: readonly (readonly [network: string, prefix: number])[] = [
  ['2001::', 23], // Protocol assignments, Teredo among them.
  ['2001:db8::', 32], // Documentation.
  ['2002::', 16], // 6to4: embeds any IPv4 address.
  ['3fff::', 20], // Documentation.
]

// Every call states the family: BlockList takes an address without one for IPv4, and then finds no IPv6 address in any
// list.
const refused = new BlockList()
for (const [network, prefix] of REFUSED_V4) refused.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of REFUSED_V6) refused.addSubnet(network, prefix, 'ipv6')
const global = new BlockList()
global.addSubnet(...GLOBAL_V6, 'ipv6')

/** Whether a text is a public IP address. A text that is no address is not. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !refused.check(address, 'ipv4')
  // A zone (`fe80::1%eth0`) belongs only to link-local addresses.
  if (!isIPv6(address) || address.includes('%')) return false
  return global.check(address, 'ipv6') && !refused.check(address, 'ipv6')
}

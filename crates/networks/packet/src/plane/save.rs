//! The bytes of the ports of a node.

use super::{Carried, Plane, Ports};
use crate::node::Egress;
use crate::packet::CLASSES;
use crate::port::Port;
use crate::save::{check, is_number};
use parades_core::wire::{self, Malformed, Wire};
use parades_topology::NodeId;

impl Plane {
    /// Returns `Ok` if the states of ports can be written.
    ///
    /// # Errors
    ///
    /// The reason why they cannot, as a part of a sentence: a queue of another crate.
    pub fn can_save(&self) -> Result<(), String> {
        self.lines.can_save()
    }

    /// Appends the bytes of the ports of a node.
    pub fn write_ports<P: Carried + Wire>(&self, ports: &Ports<P>, to: &mut Vec<u8>) {
        wire::write(&ports.unrouted, to);
        ports.egress.write_ports(to);
    }

    /// Reads the ports of a node. `is_possible` returns true for a packet that they may hold.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of ports of this node.
    pub fn read_ports<P: Carried + Wire>(
        &self,
        node: NodeId,
        is_possible: impl Fn(&P) -> bool,
        from: &mut &[u8],
    ) -> Result<Ports<P>, Malformed> {
        let unrouted: u64 = wire::read(from)?;
        let interfaces = self.topology.interfaces(node).iter().copied();
        let ports = interfaces.map(|interface| Port::read(&self.lines.by(&self.topology, interface).policy, from));
        let ports = ports.collect::<Result<Box<[Port]>, Malformed>>()?;
        let egress = Egress::read_ports(ports, from)?;
        let is_right = |packet: &P| {
            let has_end = (packet.destination() as usize) < self.destinations.len();
            has_end && packet.class() < CLASSES && is_possible(packet)
        };
        check(is_number(unrouted) && egress.held().all(is_right), "a node")?;
        Ok(Ports { egress, unrouted })
    }
}

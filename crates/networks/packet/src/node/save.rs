//! The bytes of a node's state.

use super::{Egress, Identity, Managed, Node};
use crate::network::Layout;
use crate::packet::Packet;
use crate::port::{LOSSES, Port};
use crate::protocols::Endpoint;
use crate::record::Record;
use crate::save::{check, is_number};
use crate::store::Store;
use parades_core::restore::Undoable;
use parades_core::wire::{self, Malformed, Wire};
use parades_topology::NodeId;
use std::collections::{BTreeMap, BTreeSet};

impl<P: Undoable + Wire> Egress<P> {
    /// Appends the bytes of the ports, and of the packets that they hold.
    pub(crate) fn write_ports(&self, to: &mut Vec<u8>) {
        self.ports.iter().for_each(|port| port.write(to));
        wire::write(&self.managed.is_some(), to);
        self.managed.iter().for_each(|managed| managed.held.write(to));
    }

    /// Reads the packets that these ports hold.
    pub(crate) fn read_ports(ports: Box<[Port]>, from: &mut &[u8]) -> Result<Egress<P>, Malformed> {
        let mut managed = None;
        if wire::read(from)? {
            let held = Store::read(ports.iter().flat_map(Port::held_places), from)?;
            managed = Some(Box::new(Managed { held, ..*Managed::new() }));
        }
        check(managed.is_some() || ports.iter().all(|port| port.held_places().is_empty()), "a node")?;
        Ok(Egress { ports, lost: BTreeMap::new(), managed })
    }
}

impl<P: Undoable + Wire> Egress<P> {
    /// Appends the bytes of all that the sending half of a node has.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        let Egress { ports, lost, managed } = self;
        ports.iter().for_each(|port| port.write(to));
        wire::write(&(lost, managed.is_some()), to);
        if let Some(managed) = managed {
            let Managed { held, duplicated, arrived, copies } = &**managed;
            held.write(to);
            wire::write(&(duplicated, arrived, copies), to);
        }
    }

    /// Reads all but these ports. The caller checks keys, slots and packets.
    pub(crate) fn read(ports: Box<[Port]>, from: &mut &[u8]) -> Result<Egress<P>, Malformed> {
        let (lost, is_managed): (BTreeMap<u32, [u64; LOSSES]>, bool) = wire::read(from)?;
        check(lost.values().flatten().all(|&packets| is_number(packets)), "a node")?;
        let managed = match is_managed {
            true => {
                let held = Store::read(ports.iter().flat_map(Port::held_places), from)?;
                let (duplicated, arrived, copies): (BTreeMap<u32, u64>, BTreeSet<Identity>, BTreeMap<u32, u64>) =
                    wire::read(from)?;
                check(duplicated.values().chain(copies.values()).all(|&copies| is_number(copies)), "a node")?;
                Some(Box::new(Managed { held, duplicated, arrived, copies }))
            }
            false => None,
        };
        check(is_managed || ports.iter().all(|port| port.held_places().is_empty()), "a node")?;
        Ok(Egress { ports, lost, managed })
    }
}

impl<D: Record> Node<Packet<D>> {
    /// Appends the bytes of the state.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        self.egress.write(to);
        self.endpoints.iter().for_each(|endpoint| endpoint.write(to));
    }

    /// Reads the state of a node.
    pub(crate) fn read(layout: &Layout, node: NodeId, from: &mut &[u8]) -> Result<Node<Packet<D>>, Malformed> {
        let interfaces = layout.topology.interfaces(node);
        let port = |interface| Port::read(&layout.lines.by(&layout.topology, interface).policy, from);
        let ports = interfaces.iter().copied().map(port).collect::<Result<Box<[Port]>, Malformed>>()?;
        let egress = Egress::read(ports, from)?;
        check(egress.lost.keys().all(|&key| layout.has_key(key)), "a node")?;
        egress.managed.iter().try_for_each(|managed| managed.check(layout, node, &egress.ports))?;
        let endpoint = |&address: &u32| {
            let (flow, begins) = layout.slots.role(address);
            let start = layout.flows[flow as usize].start;
            Endpoint::read(layout.kind_of(flow), begins, start, layout.measure.percentiles, from)
        };
        let endpoints = layout.slots.of(node).iter().map(endpoint).collect::<Result<Box<[Endpoint]>, Malformed>>()?;
        Ok(Node { egress, endpoints })
    }
}

impl<D: Record> Managed<Packet<D>> {
    /// Checks what was read for a node of this layout.
    fn check(&self, layout: &Layout, node: NodeId, ports: &[Port]) -> Result<(), Malformed> {
        let Managed { held, duplicated, arrived, copies } = self;
        let mut lines = ports.iter().zip(layout.topology.interfaces(node));
        let may_arrive = lines.all(|(port, interface)| {
            port.held_places().into_iter().all(|place| layout.may_arrive(interface.neighbour, held.at(place)))
        });
        let slots = layout.slots.of(node).len();
        let has_slot = |slot: u32| (slot as usize) < slots;
        let is_possible = may_arrive
            && duplicated.keys().all(|&key| layout.has_key(key))
            && arrived.iter().all(|&(slot, ..)| has_slot(slot))
            && copies.keys().all(|&slot| has_slot(slot));
        check(is_possible, "a node")
    }
}

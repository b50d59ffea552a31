//! Processes that a deployment begins on the hosts of a platform.

use super::on_platform::{OnPlatform, PlatformProgram};
use parades_config::ConfigError;
use parades_core::event::LpId;
use parades_flow::platform::Platform;
use parades_flow::xml::deployment::{self, Deployed};
use parades_program::{Node, Start};
use std::fmt;
use std::path::Path;
use std::pin::Pin;

/// The code of a process, which gets its arguments.
pub type Function<P> = fn(Node<P>, Vec<String>) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// The processes of a deployment file, with the functions that they run.
///
/// Node *i* must be on host *i*: the program has as many nodes as the platform has hosts. Then
/// [`Deployment::begin`] begins the processes of a node, and [`Deployment::begin_again`] those that begin
/// again with their host.
///
/// # Examples
///
/// ```
/// use parades_carriers::flow_level::{Deployment, Function, OnPlatform};
/// use parades_carriers::FlowLevel;
/// use parades_core::prelude::*;
/// use parades_flow::network_model::{MaxMinModel, NetworkModel};
/// use parades_program::{Node, Processes, Program, Start};
///
/// struct Work { carrier: FlowLevel<u64>, deployment: Deployment<Work> }
///
/// async fn computes(node: Node<Work>, arguments: Vec<String>) {
///     let flops = arguments[0].parse().expect("a number of flops");
///     node.compute(flops).await.expect("the host works");
///     node.with(|here| *here.state = Some(here.now()));
/// }
///
/// const FUNCTIONS: [(&str, Function<Work>); 1] = [("computes", |node, arguments| Box::pin(computes(node, arguments)))];
///
/// impl Program for Work {
///     type Message = u64;
///     type State = Option<Time>;
///     type Carrier = FlowLevel<u64>;
///     fn nodes(&self) -> u32 { 2 }
///     fn carrier(&self) -> &FlowLevel<u64> { &self.carrier }
///     fn start(&self, start: &mut Start<'_, Self>) -> Option<Time> {
///         self.deployment.begin(start);
///         None
///     }
///     fn restart(&self, start: &mut Start<'_, Self>, _: &mut Option<Time>) {
///         self.deployment.begin_again(start);
///     }
///     fn finish(&self, id: LpId, done: &Option<Time>, _: &End, _: &mut Metrics) {
///         assert_eq!(*done, (id == LpId(1)).then_some(Time::from_secs(5)));
///     }
/// }
///
/// let platform = parades_flow::xml::parse("two.xml".as_ref(), br#"<platform version="4.1"><zone id="w" routing="Full">
///     <host id="a" speed="1Gf"/> <host id="b" speed="1Gf"/></zone></platform>"#)?;
/// let text = br#"<platform version="4.1">
///     <actor host="b" function="computes" start_time="3"><argument value="2e9"/></actor></platform>"#;
/// let deployment = Deployment::parse("d.xml".as_ref(), text, &platform, &FUNCTIONS)?;
/// let model = NetworkModel::MaxMin(MaxMinModel::LV08);
/// let carrier = FlowLevel::new(platform.into(), model, 2, |&bytes| bytes as f64).with_ends_of_processes();
/// let program = Processes::new(Work { carrier, deployment });
/// parades_engine::sequential::run(&program, RunOptions::until(Time::from_secs(9)))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Deployment<P: PlatformProgram> {
    deployed: Vec<Deployed>,
    functions: Vec<(&'static str, Function<P>)>,
}

impl<P: PlatformProgram> fmt::Debug for Deployment<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Deployment").field(&self.deployed).finish()
    }
}

impl<P: PlatformProgram> Deployment<P> {
    /// Reads the deployment file at `path` of processes on a platform. `functions` are the functions by name.
    ///
    /// # Errors
    ///
    /// As [`deployment::read`].
    pub fn read(
        path: &Path,
        platform: &Platform,
        functions: &[(&'static str, Function<P>)],
    ) -> Result<Deployment<P>, ConfigError> {
        let names: Vec<&str> = functions.iter().map(|(name, _)| *name).collect();
        Ok(Deployment { deployed: deployment::read(path, platform, &names)?, functions: functions.to_vec() })
    }

    /// Reads a deployment from memory. Errors name the file `file`.
    ///
    /// # Errors
    ///
    /// As [`deployment::read`].
    pub fn parse(
        file: &Path,
        bytes: &[u8],
        platform: &Platform,
        functions: &[(&'static str, Function<P>)],
    ) -> Result<Deployment<P>, ConfigError> {
        let names: Vec<&str> = functions.iter().map(|(name, _)| *name).collect();
        let deployed = deployment::parse(file, bytes, platform, &names)?;
        Ok(Deployment { deployed, functions: functions.to_vec() })
    }

    /// Begins the processes of a node, each at its time.
    pub fn begin(&self, start: &mut Start<'_, P>) {
        self.begin_where(start, |_| true);
    }

    /// Begins the processes of a node that begin again when its host works again.
    pub fn begin_again(&self, start: &mut Start<'_, P>) {
        self.begin_where(start, |deployed| deployed.restarts);
    }

    fn begin_where(&self, start: &mut Start<'_, P>, begins: impl Fn(&Deployed) -> bool) {
        let LpId(node) = start.id();
        for deployed in self.deployed.iter().filter(|deployed| deployed.host.0 == node && begins(deployed)) {
            let (name, function) = self.functions[deployed.function];
            let Deployed { arguments, start: begin, kill, .. } = deployed.clone();
            start.spawn(name, move |node| async move {
                if node.now() < begin {
                    node.sleep_until(begin).await;
                }
                let me = node.process_id();
                let killer = kill.map(|kill| {
                    node.spawn_daemon("kill_time", move |node| async move {
                        node.sleep_until(kill).await;
                        node.kill(me);
                    })
                });
                function(node, arguments).await;
                // Nothing is left to kill.
                killer.into_iter().for_each(|killer| killer.kill());
            });
        }
    }
}

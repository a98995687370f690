//! Helper processes in namespaces, where the machine allows them.

use fairdrop_live::os::namespace::{Enter, Helper, Run, SocketKind};
use fairdrop_live::os::{Netlink, NetworkSetting, Prefix};
use fairdrop_live::port::TunReader;
use std::error::Error;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;

/// A helper in user and network namespaces of its own; `None`, and a line that says so, where the machine allows none.
fn helper() -> Result<Option<Helper>, Box<dyn Error>> {
    let helper = Helper::start(Path::new(env!("CARGO_BIN_EXE_fairdropd")))?;
    match helper.enter(Enter { user: true, network: true, ..Enter::default() }) {
        Ok(()) => Ok(Some(helper)),
        Err(error) => {
            eprintln!("skipped: no user namespaces here: {error}");
            Ok(None)
        }
    }
}

fn up(interface: &str) -> NetworkSetting {
    NetworkSetting::Up { interface: interface.into(), mtu: Some(1400) }
}

#[test]
fn devices_addresses_routes_and_sockets_in_a_namespace() -> Result<(), Box<dyn Error>> {
    let Some(helper) = helper()? else { return Ok(()) };
    let Ok(device) = helper.tun("o0") else {
        eprintln!("skipped: no TUN device here");
        return Ok(());
    };
    let [here, beyond] = [1, 9].map(|last| Ipv4Addr::new(100, 64, 7, last));
    helper.network(&[
        up("o0"),
        NetworkSetting::Address { interface: "o0".into(), address: Prefix::new(here, 24) },
        NetworkSetting::TakeAll { interface: "o0".into(), v6: false },
        NetworkSetting::Route {
            to: Prefix::new(Ipv4Addr::UNSPECIFIED, 0),
            via: Some(beyond.into()),
            interface: "o0".into(),
            congestion: Some("reno".into()),
            ecn: true,
        },
    ])?;
    let netlink = Netlink::over(helper.socket(SocketKind::Netlink)?);
    assert!(netlink.routed()?.contains(&Prefix::new(Ipv4Addr::new(100, 64, 7, 0), 24)));
    assert_eq!(netlink.tx_dropped("o0")?, 0);
    assert!(Netlink::open()?.link("o0").is_err(), "it is in the namespace only");

    let foreign = Ipv4Addr::new(192, 0, 2, 1);
    let listener: std::net::TcpListener =
        helper.socket(SocketKind::TcpListener((foreign, 80).into()))?.into();
    assert_eq!(listener.local_addr()?, (foreign, 80).into());
    let socket: std::net::UdpSocket = helper.socket(SocketKind::Udp((foreign, 53).into()))?.into();
    socket.send_to(b"to whom it may concern", (beyond, 7))?;
    let mut reader = TunReader::new(Arc::new(device));
    let mut packet = [0; 2000];
    // The kernel may say something of its own first (IPv6 router solicitations).
    let length = loop {
        match reader.read(&mut packet)? {
            Some(read) if packet[0] >> 4 == 4 => break read.len,
            Some(_) => {}
            None => {
                let fd = rustix::event::PollFd::new(&reader, rustix::event::PollFlags::IN);
                assert_ne!(
                    rustix::event::poll(&mut [fd], Some(&rustix::time::Timespec { tv_sec: 60, tv_nsec: 0 }))?,
                    0
                );
            }
        }
    };
    assert_eq!((length, &packet[12..16], &packet[16..20]), (50, &foreign.octets()[..], &beyond.octets()[..]));
    assert!(helper.socket(SocketKind::RawIp { v6: false }).is_ok());
    Ok(())
}

#[test]
fn a_refusal_names_the_setting_and_keeps_the_number() -> Result<(), Box<dyn Error>> {
    let Some(helper) = helper()? else { return Ok(()) };
    let error = helper.network(&[up("lo"), up("nosuch0")]).unwrap_err();
    assert!(error.to_string().contains("nosuch0"), "{error}");
    let error = helper.sysctl("ipv4/no_such_thing", "1").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound, "{error}");
    helper.sysctl("ipv4/tcp_no_metrics_save", "1")?;
    let address = NetworkSetting::Address {
        interface: "lo".into(),
        address: Prefix::new(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1), 64),
    };
    // Where IPv6 is off this is refused, and the helper goes on.
    let _ = helper.network(&[address]);
    helper.network(&[NetworkSetting::Address {
        interface: "lo".into(),
        address: Prefix::new(Ipv4Addr::new(192, 0, 2, 9), 24),
    }])?;
    Ok(())
}

/// Runs a command in process, mount and network namespaces inside those of `outer`.
fn run(outer: &Helper, command: &[&str]) -> Result<u8, Box<dyn Error>> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    outer.enter(Enter { processes: true, ..Enter::default() })?;
    let inner = outer.helper()?;
    inner.enter(Enter { network: true, mounts: true, ..Enter::default() })?;
    let command = command.iter().map(Into::into).collect();
    Ok(inner.run(Run { command, as_user: Some((user, group)) })?)
}

#[test]
fn a_command_is_the_same_user_and_its_exit_code_is_returned() -> Result<(), Box<dyn Error>> {
    let user = rustix::process::geteuid().as_raw();
    let expected = format!("test $(id -u) = {user} && test $(ls /sys/class/net | wc -l) -gt 0 && exit 33");
    for (command, code) in [
        (&["sh", "-c", &expected][..], 33),
        (&["sh", "-c", "kill -9 $$"], 137),
        (&["no-such-command-at-all"], 127),
        (&["/"], 126),
    ] {
        let Some(outer) = helper()? else { return Ok(()) };
        assert_eq!(run(&outer, command)?, code, "{command:?}");
    }
    Ok(())
}

#[test]
fn nothing_outlives_the_socket() -> Result<(), Box<dyn Error>> {
    let Some(outer) = helper()? else { return Ok(()) };
    outer.enter(Enter { processes: true, ..Enter::default() })?;
    let inner = outer.helper()?;
    let pid = rustix::process::Pid::from_raw(inner.pid() as i32).ok_or("no process")?;
    let ended = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())?;
    let (sender, receiver) = std::sync::mpsc::channel();
    let script = "sleep 1000 & sleep 1000";
    let waiter = std::thread::spawn(move || {
        let ran = inner.run(Run { command: ["sh", "-c", script].map(Into::into).into(), as_user: None });
        sender.send(ran.is_err())
    });
    // The outer helper's end ends the inner one's parent; killed, it says nothing to anybody.
    let outer_pid = rustix::process::Pid::from_raw(outer.pid() as i32).ok_or("no process")?;
    rustix::process::kill_process(outer_pid, rustix::process::Signal::KILL)?;
    rustix::process::kill_process(pid, rustix::process::Signal::KILL)?;
    let fd = rustix::event::PollFd::new(&ended, rustix::event::PollFlags::IN);
    assert_ne!(rustix::event::poll(&mut [fd], Some(&rustix::time::Timespec { tv_sec: 60, tv_nsec: 0 }))?, 0);
    assert!(receiver.recv_timeout(std::time::Duration::from_secs(60))?, "the caller gets an error");
    waiter.join().map_err(|_| "panicked")??;
    Ok(())
}

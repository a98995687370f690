//! Recordings of kernel TCP (`experiments/fidelity/recording.py`), played against the simulator's sender.

use std::io::Read;

use fairdrop_sim::beside_kernel;
use flate2::read::GzDecoder;

/// The text of a recording of `tests/kernel`.
fn unpacked(recording: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(recording).read_to_string(&mut text).unwrap();
    text
}

/// The columns of each ACK.
fn play(transport: &str, recording: &str) -> Vec<Vec<String>> {
    let table = beside_kernel(transport, &[], recording).unwrap();
    table.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// The segments that the kernel and the simulator's sender sent after each ACK.
fn sent(transport: &str, recording: &str) -> Vec<(String, String)> {
    play(transport, recording).into_iter().map(|row| (row[3].clone(), row[4].clone())).collect()
}

const OPENING: &str = "syn 0\nsyn-ack 40000000\nsent 40000000 0\nsent 40000000 1\nsent 40000000 2\nsent 40000000 3\n\
sent 40000000 4\nsent 40000000 5\nsent 40000000 6\nsent 40000000 7\nsent 40000000 8\nsent 40000000 9\n";

/// A kernel that sends less, more, or something lost is followed: the next answers are the same again.
#[test]
fn a_difference_is_counted_once() {
    let cases = [
        // One fewer after the first ACK: the second lets it out as well.
        (
            "ack 80000000 1 40\nsent 80000000 10\nack 81000000 2 40\nsent 81000000 11\nsent 81000000 12\nsent 81000000 13\n",
            [("10", "10-11"), ("11-13", "11-13")],
        ),
        // One more: it is in flight then.
        (
            "ack 80000000 1 40\nsent 80000000 10\nsent 80000000 11\nsent 80000000 12\nack 81000000 2 40\nsent 81000000 13\n",
            [("10-12", "10-11"), ("13", "13")],
        ),
        // Sent again without need.
        (
            "ack 80000000 1 40\nsent 80000000 1\nsent 80000000 10\nsent 80000000 11\nack 81000000 2 40\nsent 81000000 12\nsent 81000000 13\n",
            [("1 10-11", "10-11"), ("12-13", "12-13")],
        ),
    ];
    for (rest, expected) in cases {
        let found = sent("reno", &format!("{OPENING}{rest}ack 90000000 3 40\n"));
        assert_eq!(found[0], ("0-9".into(), "0-9".into()));
        let expected = expected.map(|(kernel, own)| (kernel.to_owned(), own.to_owned()));
        assert_eq!(found[1..], expected, "{rest}");
    }
}

/// What `TCP_INFO` says replaces the window: 20 segments may be in flight after the first ACK, of which 11 are.
#[test]
fn the_window_is_the_kernels() {
    let rest = "ack 80000000 1 40\nsent 80000000 10\nsent 80000000 11\ninfo 20 2147483647 0 0 0 0 3 40000 240000\n\
ack 81000000 2 40\nack 82000000 3 40\n";
    let rows = play("reno", &format!("{OPENING}{rest}"));
    assert_eq!((&rows[1][7], &rows[1][8]), (&"20".to_owned(), &"11".to_owned()));
    assert_eq!(rows[2][4], "12-22", "one has arrived, 21 may be in flight");
}

#[test]
fn what_is_no_recording_is_refused() {
    let cases = [
        ("", "there is no SYN"),
        ("syn 0\nsent 1 0\n", "line 2: not a line of a recording in its place: sent 1 0"),
        ("syn 0\nsyn-ack 5\nack x 1 0\n", "line 3: not a line of a recording"),
        ("syn 0\nsyn-ack 5\nack 1000000 1 2\n", "line 3: echoes what was sent later"),
        ("syn 0\nsyn-ack 5\ninfo 10 9 0 0 0 0 3 40000 240000 1000\n", "line 3: not a line of a recording"),
    ];
    for (recording, expected) in cases {
        let error = beside_kernel("reno", &[], recording).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    assert!(beside_kernel("bbr3", &[], OPENING).unwrap_err().contains("only reno, cubic and bbr"));
}

/// Linux 6.18 over 10 Mb/s and 40 ms, `tests/kernel`: 5 % lost at random, RED, a FIFO of 50 packets. The answer to every ACK is
/// the kernel's. Of CUBIC's over the FIFO 23 come an ACK earlier or later: when its clock ticked was not measured well there.
#[test]
fn answers_are_the_kernels() {
    let recordings: [(&str, &[u8], usize, usize); 4] = [
        ("reno", include_bytes!("kernel/reno-loss.txt.gz"), 427, 0),
        ("reno", include_bytes!("kernel/reno-red.txt.gz"), 778, 0),
        ("cubic", include_bytes!("kernel/cubic-loss.txt.gz"), 490, 0),
        ("cubic", include_bytes!("kernel/cubic-droptail.txt.gz"), 1482, 23),
    ];
    for (transport, recording, acks, different) in recordings {
        let found = sent(transport, &unpacked(recording));
        let differing = found.iter().filter(|(kernel, own)| kernel != own).count();
        assert_eq!((found.len(), differing), (acks, different), "{transport}");
    }
}

/// BBR of Linux 6.18 over 1 Mb/s and 40 ms with 1 % lost at random, `tests/kernel`: Startup, Drain, probing, and the look for the
/// least round trip. The sender's model of the path is its own from the SYN on. After each ACK its bandwidth and least round
/// trip are the kernel's within half a per cent, and its gains, the window, and what is sent are the kernel's.
#[test]
fn the_path_is_found_as_the_kernel_finds_it() {
    let recording = unpacked(include_bytes!("kernel/bbr-loss.txt.gz"));
    let table = beside_kernel("bbr", &[], &recording).unwrap();
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    let column = |name: &str| head.iter().position(|other| *other == name).unwrap();
    let rows: Vec<_> = lines.collect();
    let number = |row: &[&str], name: &str| row[column(name)].parse::<f64>().unwrap();
    let known: Vec<_> = rows.iter().filter(|row| !row[column("kernel_bw")].is_empty()).collect();
    let same = |name: &str, part: f64| {
        let (kernels, own) = (format!("kernel_{name}"), format!("model_{name}"));
        let near = |row: &&&Vec<&str>| {
            let (kernels, own) = (number(row, &kernels), number(row, &own));
            (own - kernels).abs() <= part * kernels
        };
        known.iter().filter(near).count()
    };
    let gains: Vec<_> = known
        .iter()
        .map(|row| (number(row, "kernel_pacing_gain"), number(row, "kernel_cwnd_gain")))
        .collect();
    for mode in
        [(739.0, 739.0), (88.0, 739.0), (320.0, 512.0), (192.0, 512.0), (256.0, 512.0), (256.0, 256.0)]
    {
        assert!(gains.contains(&mode), "{mode:?} occurs");
    }
    let different = rows.iter().filter(|row| row[column("kernel_sent")] != row[column("model_sent")]).count();
    let all = known.len();
    let found = [rows.len(), different, all, all - same("bw", 0.005), all - same("min_rtt_us", 0.005)];
    assert_eq!(found, [997, 0, 992, 0, 0]);
    let found = ["pacing_gain", "cwnd_gain", "cwnd"].map(|name| all - same(name, 0.0));
    assert_eq!(found, [0, 0, 0]);
}

//! Traffic of ordinary programs from one namespace to another.

use super::PATIENCE;
use port::Netns;
use port::netns::Sight;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

fn ping(from: &Netns, to: IpAddr) {
    let to = to.to_string();
    let output = from.command("ping", Sight::Network).args(["-c", "3", "-i", "0.2", "-W", "2", &to]).output().unwrap();
    assert!(output.status.success(), "ping {to}: {}", String::from_utf8_lossy(&output.stdout));
}

/// Both directions of one connection, in segments as large as the first link permits.
fn tcp(from: &Netns, to: &Netns, there: IpAddr, seen_as: IpAddr) {
    let text: Vec<u8> = (0..400_000u32).flat_map(u32::to_be_bytes).collect();
    let listener = to.run_in(|| TcpListener::bind((there, 0)).unwrap()).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::scope(|scope| {
        let echo = scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut got = vec![0; text.len()];
            stream.read_exact(&mut got).unwrap();
            stream.write_all(&got).unwrap();
            assert!(got == text, "what arrived is not what was sent");
        });
        let connect = || TcpStream::connect_timeout(&SocketAddr::from((seen_as, port)), PATIENCE);
        let mut stream = from.run_in(connect).unwrap().unwrap_or_else(|e| panic!("TCP to {seen_as}: {e}"));
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&text).unwrap();
        let mut back = vec![0; text.len()];
        stream.read_exact(&mut back).unwrap();
        assert!(back == text, "what came back is not what was sent");
        echo.join().unwrap();
    });
}

/// Datagrams of one packet, of exactly one MTU, and of several fragments. A lost datagram is sent again, because the first that
/// exceeds the path MTU only tells its sender this MTU.
fn udp(from: &Netns, to: &Netns, there: IpAddr, seen_as: IpAddr) {
    let server = to.run_in(|| UdpSocket::bind((there, 0)).unwrap()).unwrap();
    let port = server.local_addr().unwrap().port();
    let any: IpAddr = if seen_as.is_ipv4() { [0, 0, 0, 0].into() } else { [0u16; 8].into() };
    let client = from.run_in(|| UdpSocket::bind((any, 0)).unwrap()).unwrap();
    for socket in [&server, &client] {
        socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    }
    for size in [1usize, 100, 1400, 1452, 1472, 4000, 9000] {
        let text: Vec<u8> = (0..size).map(|n| (n * 7) as u8).collect();
        let mut buffer = vec![0; 65_536];
        let came_back = (0..10).any(|_| {
            // The kernel may report a smaller path MTU at once; the next attempt fits.
            let _ = client.send_to(&text, (seen_as, port));
            let Ok((n, peer)) = server.recv_from(&mut buffer) else { return false };
            assert_eq!(&buffer[..n], &text);
            let _ = server.send_to(&text, peer);
            client.recv_from(&mut buffer).is_ok_and(|(n, _)| buffer[..n] == text)
        });
        assert!(came_back, "UDP of {size} octets to {seen_as}");
    }
}

/// A page of 1.6 MB over HTTP, fetched by curl.
fn web(from: &Netns, to: &Netns, there: IpAddr, seen_as: IpAddr) {
    let page: Vec<u8> = (0..400_000u32).flat_map(u32::to_le_bytes).collect();
    let listener = to.run_in(|| TcpListener::bind((there, 0)).unwrap()).unwrap();
    let address = format!("http://{}/", SocketAddr::from((seen_as, listener.local_addr().unwrap().port())));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let (mut asked, mut octet) = (Vec::new(), [0]);
            while !asked.ends_with(b"\r\n\r\n") {
                stream.read_exact(&mut octet).unwrap();
                asked.push(octet[0]);
            }
            assert!(asked.starts_with(b"GET / "));
            write!(stream, "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", page.len()).unwrap();
            stream.write_all(&page).unwrap();
        });
        let patience = PATIENCE.as_secs().to_string();
        let mut curl = from.command("curl", Sight::Network);
        let output = curl.args(["-sS", "--noproxy", "*", "--max-time", &patience, &address]).output().unwrap();
        assert!(output.status.success(), "curl {address}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stdout == page, "what curl got is not the page");
    });
}

/// Everything from one host to another.
pub(crate) fn traffic(from: &Netns, to: &Netns, there: &str, seen_as: &str) {
    let (there, seen_as) = (there.parse().unwrap(), seen_as.parse().unwrap());
    ping(from, seen_as);
    udp(from, to, there, seen_as);
    tcp(from, to, there, seen_as);
    web(from, to, there, seen_as);
}

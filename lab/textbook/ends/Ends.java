import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.*;
import java.nio.ByteBuffer;
import java.util.*;
import java.util.concurrent.locks.LockSupport;

/** Programs at the ends: `java Ends MODE KEY=VALUE ...`. Each prints an object of JSON when it has done its work. */
public final class Ends {
    private final Map<String, String> given = new HashMap<>();

    private Ends(String[] words) {
        for (int at = 1; at < words.length; at++) {
            String[] parts = words[at].split("=", 2);
            given.put(parts[0], parts[1]);
        }
    }

    private double value(String name, double otherwise) {
        return given.containsKey(name) ? Double.parseDouble(given.get(name)) : otherwise;
    }

    private int whole(String name, int otherwise) {
        return (int) value(name, otherwise);
    }

    private static double now() {
        return System.nanoTime() / 1e9;
    }

    private static void waitUntil(double time) {
        for (double left = time - now(); left > 0; left = time - now()) LockSupport.parkNanos((long) (left * 1e9));
    }

    private static void pause(double seconds) {
        waitUntil(now() + seconds);
    }

    private void set(Socket socket) throws IOException {
        if (given.containsKey("sndbuf")) socket.setSendBufferSize(whole("sndbuf", 0));
        socket.setTcpNoDelay(whole("nodelay", 0) > 0);
    }

    /** Connects if a host is given, else takes the first that connects. */
    private Socket opened() throws IOException {
        if (given.containsKey("host")) {
            Socket socket = new Socket();
            if (given.containsKey("rcvbuf")) socket.setReceiveBufferSize(whole("rcvbuf", 0));
            socket.connect(new InetSocketAddress(given.get("host"), whole("port", 5001)), 60000);
            set(socket);
            return socket;
        }
        try (ServerSocket server = listening()) {
            Socket socket = server.accept();
            set(socket);
            return socket;
        }
    }

    private ServerSocket listening() throws IOException {
        ServerSocket server = new ServerSocket();
        server.setReuseAddress(true);
        if (given.containsKey("rcvbuf")) server.setReceiveBufferSize(whole("rcvbuf", 0));
        server.bind(new InetSocketAddress(whole("port", 5001)), whole("backlog", 50));
        return server;
    }

    /** Writes octets: `write` at a time, `rate` bits per second, a pause of `pause` ms after each `every` octets. */
    private void source() throws IOException {
        Socket socket = opened();
        OutputStream out = socket.getOutputStream();
        long octets = (long) value("octets", 1e6), sent = 0, sincePause = 0;
        int size = whole("write", 65536);
        double begun = now(), paused = 0, rate = value("rate", 0), every = value("every", 0), until = begun + value("seconds", 1e9);
        byte[] data = new byte[size];
        new Random(1).nextBytes(data);
        while (sent < octets && now() < until) {
            int part = (int) Math.min(size, octets - sent);
            out.write(data, 0, part);
            sent += part;
            sincePause += part;
            if (rate > 0) waitUntil(begun + sent * 8 / rate);
            if (every > 0 && sincePause >= every && sent < octets) {
                sincePause = 0;
                double length = value("pause", 0) / 1e3;
                paused += length;
                pause(length);
            }
        }
        socket.shutdownOutput();
        InputStream in = socket.getInputStream();
        while (in.read(data) > 0) { }
        socket.close();
        print("sent", sent, "seconds", now() - begun, "paused", paused);
    }

    /** Reads: `chunk` octets at a time, at most `rate` bits per second, a pause of `pause` ms after each `every` octets. */
    private void sink() throws IOException {
        Socket socket = opened();
        InputStream in = socket.getInputStream();
        byte[] data = new byte[whole("chunk", 65536)];
        long read = 0, sincePause = 0;
        double begun = now(), paused = 0, rate = value("rate", 0), every = value("every", 0);
        for (int part; (part = in.read(data)) > 0; ) {
            read += part;
            sincePause += part;
            if (rate > 0) waitUntil(begun + read * 8 / rate);
            if (every > 0 && sincePause >= every) {
                sincePause = 0;
                double length = value("pause", 0) / 1e3;
                paused += length;
                pause(length);
            }
        }
        socket.close();
        print("read", read, "seconds", now() - begun, "paused", paused);
    }

    /** Requests of `size` octets for `answer` octets, one after the other, in `split` writes, with `think` ms after each `burst` of them. */
    private void ask() throws IOException {
        double begun = now(), thought = 0;
        int count = whole("count", 10), size = Math.max(12, whole("size", 40)), answer = whole("answer", 100), answered = 0;
        Random random = new Random(whole("seed", 1));
        Socket socket = null;
        byte[] data = new byte[65536];
        double slowest = 0;
        for (; answered < count; answered++) {
            if (socket == null) socket = opened();
            ByteBuffer head = ByteBuffer.allocate(size);
            head.putInt(size - 12).putInt(answer).putInt(whole("work", 0));
            OutputStream out = socket.getOutputStream();
            int parts = whole("split", 1), at = 0;
            double asked = now();
            for (int part = 1; part <= parts; part++) {
                int to = part == parts ? size : size * part / parts;
                out.write(head.array(), at, to - at);
                at = to;
            }
            InputStream in = socket.getInputStream();
            for (int left = answer; left > 0; ) {
                int part = in.read(data, 0, Math.min(left, data.length));
                if (part <= 0) throw new IOException("ended early");
                left -= part;
            }
            slowest = Math.max(slowest, now() - asked);
            if (whole("each", 0) > 0) {
                socket.close();
                socket = null;
            }
            if (given.containsKey("period")) {
                waitUntil(begun + (answered + 1) * value("period", 0) / 1e3);
            } else if (value("think", 0) > 0 && answered + 1 < count && (answered + 1) % whole("burst", 1) == 0) {
                double length = value("think", 0) / 1e3 * (0.75 + random.nextDouble() / 2);
                thought += length;
                pause(length);
            }
        }
        if (socket != null) socket.close();
        print("answered", answered, "seconds", now() - begun, "thought", thought, "slowest", slowest);
    }

    private void answerOne(Socket socket) throws IOException {
        set(socket);
        DataInputStream in = new DataInputStream(socket.getInputStream());
        OutputStream out = socket.getOutputStream();
        Random random = new Random(7);
        try {
            while (true) {
                int more = in.readInt(), answer = in.readInt(), work = in.readInt();
                in.readFully(new byte[more]);
                if (work > 0) {
                    double length = work / 1e3 * (0.75 + random.nextDouble() / 2);
                    pause(length);
                    synchronized (this) {
                        worked += length;
                    }
                }
                out.write(new byte[answer]);
            }
        } catch (IOException done) {
            socket.close();
        }
    }

    private double worked;

    /** Answers `ask`; takes the first connection only after `late` ms. */
    private void answer() throws IOException {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> print("worked", worked)));
        try (ServerSocket server = listening()) {
            pause(value("late", 0) / 1e3);
            while (true) {
                Socket socket = server.accept();
                new Thread(() -> {
                    try {
                        answerOne(socket);
                    } catch (IOException gone) {
                        System.err.println(gone);
                    }
                }).start();
            }
        }
    }

    /** Numbered datagrams of `size` octets at `rate` bits per second for `seconds`. */
    private void shoot() throws IOException {
        try (DatagramSocket socket = new DatagramSocket()) {
            InetSocketAddress to = new InetSocketAddress(given.get("host"), whole("port", 5001));
            int size = whole("size", 1200), sent = 0;
            double begun = now(), each = size * 8 / value("rate", 1e6), until = begun + value("seconds", 5);
            for (; now() < until; sent++) {
                ByteBuffer data = ByteBuffer.allocate(size);
                data.put((byte) 0x80).put((byte) 96).putShort((short) sent).putInt((int) (sent * each * 90000)).putInt(0x5a17);
                socket.send(new DatagramPacket(data.array(), size, to));
                waitUntil(begun + (sent + 1) * each);
            }
            print("shot", sent, "seconds", now() - begun);
        }
    }

    /** Receives datagrams until none comes for two seconds; with `ack`, answers each one. */
    private void receive() throws IOException {
        try (DatagramSocket socket = new DatagramSocket(whole("port", 5001))) {
            socket.setReceiveBufferSize(1 << 20);
            byte[] data = new byte[2048];
            int caught = 0;
            double first = 0, last = 0;
            try {
                while (true) {
                    DatagramPacket packet = new DatagramPacket(data, data.length);
                    socket.receive(packet);
                    socket.setSoTimeout(2000);
                    last = now();
                    if (caught++ == 0) first = last;
                    if (whole("ack", 0) > 0) socket.send(new DatagramPacket(data, 4, packet.getSocketAddress()));
                }
            } catch (SocketTimeoutException over) {
                print("caught", caught, "seconds", last - first);
            }
        }
    }

    /** Blocks of `size` octets, each sent after the answer to the one before. */
    private void blocks() throws IOException {
        try (DatagramSocket socket = new DatagramSocket()) {
            socket.setSoTimeout(1000);
            InetSocketAddress to = new InetSocketAddress(given.get("host"), whole("port", 5001));
            int size = whole("size", 512), count = whole("octets", 100000) / size, answered = 0, again = 0;
            double begun = now();
            while (answered < count && again < 20) {
                byte[] data = ByteBuffer.allocate(size).putInt(answered).array();
                socket.send(new DatagramPacket(data, size, to));
                try {
                    socket.receive(new DatagramPacket(new byte[64], 64));
                    answered++;
                } catch (SocketTimeoutException lost) {
                    again++;
                }
            }
            print("blocks", answered, "seconds", now() - begun, "again", again);
        }
    }

    /** A name server that answers each question for an address by `address`, after `late` ms. */
    private void names() throws IOException {
        try (DatagramSocket socket = new DatagramSocket(53)) {
            byte[] address = InetAddress.getByName(given.get("address")).getAddress();
            while (true) {
                byte[] data = new byte[512];
                DatagramPacket packet = new DatagramPacket(data, data.length);
                socket.receive(packet);
                pause(value("late", 0) / 1e3);
                int end = 12;
                while (data[end] != 0) end += data[end] + 1;
                boolean isAddress = data[end + 2] == 1;
                ByteBuffer reply = ByteBuffer.allocate(512);
                reply.put(data, 0, 2).putShort((short) 0x8180).putShort((short) 1).putShort((short) (isAddress ? 1 : 0)).putInt(0);
                reply.put(data, 12, end + 5 - 12);
                if (isAddress) reply.putShort((short) 0xc00c).putShort((short) 1).putShort((short) 1).putInt(60).putShort((short) 4).put(address);
                socket.send(new DatagramPacket(reply.array(), reply.position(), packet.getSocketAddress()));
            }
        }
    }

    private static void print(Object... parts) {
        StringBuilder text = new StringBuilder();
        for (int at = 0; at < parts.length; at += 2)
            text.append(text.length() > 0 ? ", " : "").append(String.format(Locale.ROOT, "\"%s\": %s", parts[at], parts[at + 1]));
        System.out.println("{" + text + "}");
        System.out.flush();
    }

    public static void main(String[] words) throws IOException {
        Ends it = new Ends(words);
        switch (words[0]) {
            case "source": it.source(); break;
            case "sink": it.sink(); break;
            case "ask": it.ask(); break;
            case "answer": it.answer(); break;
            case "shoot": it.shoot(); break;
            case "receive": it.receive(); break;
            case "blocks": it.blocks(); break;
            case "names": it.names(); break;
            default: throw new IllegalArgumentException(words[0]);
        }
    }
}

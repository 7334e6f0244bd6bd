// SPDX-License-Identifier: Apache-2.0 OR MIT
// SPDX-FileCopyrightText: The taut authors

import android.os.Handler;
import android.os.Looper;
import android.os.Message;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * How long the most urgent message waits in Android's own Looper while 300 other senders flood it: the experiment of
 * dev/peers/src/messages/urgent.rs. Prints a line for each repetition: the share of the receiver's time that the 300 ask for
 * (percent), how many urgent messages were sent and handled, p50, p99 and the maximum of their waits (ns), and the largest number of
 * other messages that started between the end of an urgent send and its start.
 *
 * <p>Arguments: "plain" or "front" (how urgent messages are sent: front is all that Android offers them), the length of a
 * repetition (ms), how many of each, and the shares in percent.
 */
public final class Flood {
    private static final int OTHERS = 300;
    private static final long SERVICE_NS = 2_000;
    private static final long GAP_NS = 60_000;
    private static final int MOST = 1 << 16;

    private static native int place(int cpu, int priority);

    private static volatile boolean stop;
    private static int sent;
    private static final long[] begun = new long[MOST];
    private static final long[] ended = new long[MOST];
    private static int handled;
    private static final long[] started = new long[MOST];
    private static final int[] number = new int[MOST];
    private static final int[] othersBefore = new int[MOST];
    private static int others;
    private static final long[] otherStarts = new long[1 << 22];

    private static void placed(int cpu, int priority) {
        int error = place(cpu, priority);
        if (error != 0) {
            System.err.println("no real-time priority: error " + error);
            System.exit(4);
        }
    }

    private static final class Receiver extends Handler {
        Receiver(Looper looper) {
            super(looper);
        }

        @Override
        public void handleMessage(Message message) {
            long start = System.nanoTime();
            if (message.what == 1) {
                if (handled < MOST) {
                    started[handled] = start;
                    number[handled] = message.arg1;
                    othersBefore[handled] = others;
                    handled++;
                }
            } else if (others < otherStarts.length) {
                otherStarts[others++] = start;
            }
            while (System.nanoTime() - start < SERVICE_NS) {
                Thread.onSpinWait();
            }
        }
    }

    public static void main(String[] words) throws Exception {
        System.load(System.getProperty("shim"));
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {
            error.printStackTrace();
            System.exit(1);
        });
        boolean front = words[0].equals("front");
        long lengthNs = Long.parseLong(words[1]) * 1_000_000;
        int times = Integer.parseInt(words[2]);
        // The first repetition warms the compiler, and is not printed.
        repetition(front, lengthNs, 0.5);
        for (int time = 0; time < times; time++) {
            for (int at = 3; at < words.length; at++) {
                int percent = Integer.parseInt(words[at]);
                System.out.println(percent + " " + repetition(front, lengthNs, percent / 100.0));
            }
        }
        System.exit(0);
    }

    private static String repetition(boolean front, long lengthNs, double share) throws Exception {
        stop = false;
        sent = handled = others = 0;
        Receiver[] receiver = new Receiver[1];
        CountDownLatch ready = new CountDownLatch(2);
        Thread looper = new Thread(() -> {
            placed(0, 20);
            Looper.prepare();
            receiver[0] = new Receiver(Looper.myLooper());
            ready.countDown();
            Looper.loop();
        });
        looper.start();
        while (ready.getCount() > 1) {
            Thread.sleep(1);
        }
        Receiver to = receiver[0];
        Thread urgent = new Thread(() -> {
            placed(1, 30);
            ready.countDown();
            urgentSends(to, front);
        });
        urgent.start();
        ready.await();
        Thread flood = new Thread(() -> {
            placed(1, 20);
            flood(to, share);
        });
        flood.start();
        Thread.sleep(lengthNs / 1_000_000);
        stop = true;
        urgent.join();
        flood.join();
        // What waits by then has two seconds; what is not handled after that is lost.
        long patience = System.nanoTime() + 2_000_000_000L;
        while (handled < sent && System.nanoTime() < patience) {
            Thread.sleep(5);
        }
        to.getLooper().quit();
        looper.join();
        return figures();
    }

    private static void flood(Receiver to, double share) {
        long period = (long) (OTHERS * SERVICE_NS / share);
        long next = System.nanoTime();
        while (!stop) {
            for (int sender = 0; sender < OTHERS; sender++) {
                to.sendMessage(to.obtainMessage(0));
            }
            next = Math.max(next + period, System.nanoTime());
            while (System.nanoTime() < next && !stop) {
                Thread.onSpinWait();
            }
        }
    }

    private static void urgentSends(Receiver to, boolean front) {
        long random = 0x9e3779b9L;
        while (!stop && sent < MOST) {
            random ^= random << 13;
            random ^= random >>> 7;
            random ^= random << 17;
            LockSupport.parkNanos(GAP_NS + Long.remainderUnsigned(random, GAP_NS));
            Message message = to.obtainMessage(1, sent, 0);
            begun[sent] = System.nanoTime();
            if (front) {
                to.sendMessageAtFrontOfQueue(message);
            } else {
                to.sendMessage(message);
            }
            ended[sent] = System.nanoTime();
            sent++;
        }
    }

    private static String figures() {
        long[] waits = new long[handled];
        int most = 0;
        for (int at = 0; at < handled; at++) {
            waits[at] = started[at] - begun[number[at]];
            int between = 0;
            for (int other = othersBefore[at] - 1; other >= 0 && otherStarts[other] > ended[number[at]]; other--) {
                between++;
            }
            most = Math.max(most, between);
        }
        java.util.Arrays.sort(waits);
        String of = handled == 0
                ? "0 0 0"
                : waits[handled / 2] + " " + waits[(int) (handled * 0.99)] + " " + waits[handled - 1];
        return sent + " " + handled + " " + of + " " + most;
    }
}

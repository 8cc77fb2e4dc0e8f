import com.sun.management.OperatingSystemMXBean;
import com.yahoo.labs.samoa.instances.Instance;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import moa.classifiers.Classifier;
import moa.classifiers.core.driftdetection.ADWINChangeDetector;
import moa.core.Utils;
import moa.options.AbstractOptionHandler;
import moa.options.ClassOption;
import moa.streams.ArffFileStream;
import moa.streams.InstanceStream;

/**
 * MOA without Python, files or evaluators: the fastest loop that MOA can be given.
 *
 * <pre>
 * java -cp moa.jar:. PureMoa learner rows.arff "trees.HoeffdingTree -g 200" 3
 * java -cp moa.jar:. PureMoa adwin values.f64 0.002 3
 * java -cp moa.jar:. PureMoa generator "generators.SEAGenerator -f 1" 2.5 5
 * </pre>
 *
 * Prints one line of JSON: a pass is [CPU seconds of the process, seconds on the clock, CPU seconds of the loop's own
 * thread]. The first pass starts cold. The process also compiles and collects garbage, for many passes to come.
 */
public final class PureMoa {
    public static void main(String[] args) throws Exception {
        int passes = Integer.parseInt(args[3]);
        String found =
                switch (args[0]) {
                    case "learner" -> learner(args[1], args[2], passes);
                    case "adwin" -> adwin(args[1], args[2], passes);
                    default -> generator(args[1], Double.parseDouble(args[2]), passes);
                };
        System.out.println(found);
    }

    private static String learner(String path, String cli, int passes) throws Exception {
        ArffFileStream stream = new ArffFileStream(path, -1);
        stream.prepareForUse();
        List<Instance> rows = new ArrayList<>();
        while (stream.hasMoreInstances()) {
            rows.add(stream.nextInstance().getData());
        }
        StringJoiner times = new StringJoiner(",");
        int right = 0;
        for (int pass = 0; pass < passes; pass++) {
            Classifier learner = (Classifier) ClassOption.cliStringToObject(cli, Classifier.class, null);
            learner.setModelContext(stream.getHeader());
            learner.prepareForUse();
            right = 0;
            long[] start = clocks();
            for (Instance row : rows) {
                if (Utils.maxIndex(learner.getVotesForInstance(row)) == (int) row.classValue()) {
                    right++;
                }
                learner.trainOnInstance(row);
            }
            times.add(pass(start));
        }
        return "{\"passes\": [" + times + "], \"accuracy\": " + 100.0 * right / rows.size() + "}";
    }

    private static String adwin(String path, String delta, int passes) throws Exception {
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(Path.of(path))).order(ByteOrder.LITTLE_ENDIAN);
        double[] values = new double[bytes.remaining() / 8];
        bytes.asDoubleBuffer().get(values);
        StringJoiner times = new StringJoiner(",");
        List<Integer> changes = null;
        for (int pass = 0; pass < passes; pass++) {
            ADWINChangeDetector detector = new ADWINChangeDetector();
            detector.deltaAdwinOption.setValue(Double.parseDouble(delta));
            detector.prepareForUse();
            changes = new ArrayList<>();
            long[] start = clocks();
            for (int i = 0; i < values.length; i++) {
                detector.input(values[i]);
                if (detector.getChange()) {
                    changes.add(i);
                }
            }
            times.add(pass(start));
        }
        return "{\"passes\": [" + times + "], \"changes\": " + changes + "}";
    }

    /** Warms up for some seconds, then draws as many rows in each pass as take about a fifth of a second. */
    private static String generator(String cli, double warm, int passes) throws Exception {
        InstanceStream stream = (InstanceStream) ClassOption.cliStringToObject(cli, InstanceStream.class, null);
        ((AbstractOptionHandler) stream).prepareForUse();
        long begin = System.nanoTime();
        int rows = 1000;
        double sum = 0.0;
        double seconds = 0.0;
        while (seconds < 0.2 || System.nanoTime() - begin < warm * 1e9) {
            rows = seconds < 0.2 ? 2 * rows : rows;
            long start = System.nanoTime();
            sum += draw(stream, rows);
            seconds = (System.nanoTime() - start) / 1e9;
        }
        StringJoiner times = new StringJoiner(",");
        for (int pass = 0; pass < passes; pass++) {
            long[] start = clocks();
            sum += draw(stream, rows);
            times.add(pass(start));
        }
        return "{\"passes\": [" + times + "], \"rows\": " + rows + ", \"sum\": " + sum + "}";
    }

    private static double draw(InstanceStream stream, int rows) {
        double sum = 0.0;
        for (int i = 0; i < rows; i++) {
            sum += ((Instance) stream.nextInstance().getData()).classValue();
        }
        return sum;
    }

    private static long[] clocks() {
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long thread = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        return new long[] {system.getProcessCpuTime(), System.nanoTime(), thread};
    }

    private static String pass(long[] start) {
        long[] end = clocks();
        StringJoiner seconds = new StringJoiner(", ", "[", "]");
        for (int i = 0; i < end.length; i++) {
            seconds.add(String.valueOf((end[i] - start[i]) / 1e9));
        }
        return seconds.toString();
    }
}

// Compile and run classes for netCDF-Java, which is on the class path, in one machine.
//
// A line of standard input is FOLDER, CLASS and FILE with tabs between them; FILE is empty for a class that is compiled
// only. The answer is a line: `done`, or `uncompiled` or `failed`, a tab, and the first lines of the message.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

public class RunClasses {
    static final JavaCompiler COMPILER = ToolProvider.getSystemJavaCompiler();

    static String compile(Path folder, String name, List<String> flags) throws Exception {
        StringWriter said = new StringWriter();
        try (StandardJavaFileManager files = COMPILER.getStandardFileManager(null, null, StandardCharsets.UTF_8)) {
            var sources = files.getJavaFileObjects(folder.resolve(name + ".java"));
            boolean made = COMPILER.getTask(said, files, null, flags, null, sources).call();
            return made ? null : said.toString();
        }
    }

    static String run(Path folder, String name, String file) throws Exception {
        try (URLClassLoader loader = new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
            loader.loadClass(name).getMethod("main", String[].class).invoke(null, (Object) new String[] {file});
            return null;
        } catch (InvocationTargetException error) {
            return error.getCause().toString();
        }
    }

    static String answer(String line) throws Exception {
        String[] words = line.split("\t", -1);
        Path folder = Path.of(words[0]);
        List<String> flags = List.of("-d", folder.toString(), "-proc:none", "-nowarn", "-encoding", "UTF-8");
        String said = compile(folder, words[1], flags);
        if (said != null) {
            return "uncompiled\t" + said;
        }
        said = words[2].isEmpty() ? null : run(folder, words[1], words[2]);
        return said == null ? "done" : "failed\t" + said;
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // the library prints
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String said = answer(line).replace("\n", " | ");
            out.println(said.substring(0, Math.min(1000, said.length())));
        }
    }
}

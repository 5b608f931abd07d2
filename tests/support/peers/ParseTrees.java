// Parse texts with the Java parsers that ANTLR generates, on the class path.
//
// A line of standard input is GRAMMAR, RULE and PATH with tabs between them. The answer is a line: the parse tree, or
// `refused` and the first error.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.antlr.v4.runtime.BaseErrorListener;
import org.antlr.v4.runtime.CharStream;
import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.CommonTokenStream;
import org.antlr.v4.runtime.Lexer;
import org.antlr.v4.runtime.Parser;
import org.antlr.v4.runtime.ParserRuleContext;
import org.antlr.v4.runtime.RecognitionException;
import org.antlr.v4.runtime.Recognizer;
import org.antlr.v4.runtime.Token;
import org.antlr.v4.runtime.TokenStream;
import org.antlr.v4.runtime.tree.ParseTree;
import org.antlr.v4.runtime.tree.TerminalNode;

public class ParseTrees {
    static class FirstError extends BaseErrorListener {
        String message;

        @Override
        public void syntaxError(Recognizer<?, ?> recognizer, Object symbol, int line, int column, String text,
                RecognitionException cause) {
            if (message == null) message = line + ":" + column + " " + text;
        }
    }

    static String quoted(String text) {
        StringBuilder made = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            if ("\\\"\n\r".indexOf(each) < 0) made.append(each);
            else made.append(String.format("\\u%04x", (int) each));
        }
        return made.append('"').toString();
    }

    static void show(ParseTree tree, Parser parser, StringBuilder made) {
        if (tree instanceof TerminalNode) {
            Token token = ((TerminalNode) tree).getSymbol();
            if (token.getType() == Token.EOF) made.append("EOF");
            else made.append(parser.getVocabulary().getSymbolicName(token.getType())).append(quoted(token.getText()));
            return;
        }
        made.append('(').append(parser.getRuleNames()[((ParserRuleContext) tree).getRuleIndex()]);
        for (int number = 0; number < tree.getChildCount(); number++) {
            made.append(' ');
            show(tree.getChild(number), parser, made);
        }
        made.append(')');
    }

    static String parse(String grammar, String rule, String path) throws Exception {
        String text;
        try {
            ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(Path.of(path)));
            text = StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
        } catch (CharacterCodingException error) {
            return "refused text that is not UTF-8";
        }
        FirstError errors = new FirstError();
        Lexer lexer = (Lexer) Class.forName(grammar + "Lexer").getConstructor(CharStream.class)
                .newInstance(CharStreams.fromString(text));
        Parser parser = (Parser) Class.forName(grammar + "Parser").getConstructor(TokenStream.class)
                .newInstance(new CommonTokenStream(lexer));
        for (Recognizer<?, ?> each : new Recognizer<?, ?>[] {lexer, parser}) {
            each.removeErrorListeners();
            each.addErrorListener(errors);
        }
        ParseTree tree;
        try {
            tree = (ParseTree) parser.getClass().getMethod(rule).invoke(parser);
        } catch (InvocationTargetException error) {
            if (error.getCause() instanceof StackOverflowError) return "refused text that exceeds the stack";
            throw error;
        }
        if (errors.message != null) return "refused " + quoted(errors.message);
        StringBuilder made = new StringBuilder();
        show(tree, parser, made);
        return made.toString();
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t");
            out.print(parse(words[0], words[1], words[2]) + "\n");
        }
        out.flush();
    }
}

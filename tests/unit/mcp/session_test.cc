#include "views/mcp/session.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "views/mcp/page.h"

namespace heaptap::mcp {
namespace {

using Tree = nlohmann::json;

std::vector<Tool> some_tools() {
  const auto echo = [](const ToolArguments& arguments) -> base::Result<std::string> {
    if (arguments.text("text") == "fail") return base::fail("no such recording: \x1b[m\xff\nusage");
    return fmt::format("{} {}", arguments.text("text"), arguments.number("times").value_or(1));
  };
  const auto lines = [](const ToolArguments&) -> base::Result<std::string> {
    std::string text;
    for (int line = 0; line < 2000; ++line) text += fmt::format("line {}\n", line);
    return text;
  };
  return {{.name = "echo",
           .title = "Echo",
           .description = "Says the same",
           .parameters = {{.name = "text", .is_required = true, .description = "What"},
                          {.name = "times", .type = Parameter::Type::kNumber, .description = "How often"},
                          {.name = "sort", .description = "By what", .words = {"live", "peak"}}},
           .answer = echo},
          {.name = "lines", .title = "Lines", .description = "Many", .parameters = {}, .answer = lines}};
}

Session some_session() {
  return {{.name = "heaptap", .title = "heaptap", .version = "1.2.3", .instructions = "Use it"}, some_tools()};
}

Tree answer_of(Session& session, const std::string& line) {
  const auto answer = session.answer(line);
  EXPECT_TRUE(answer) << line;
  EXPECT_FALSE(answer && answer->contains('\n'));
  return answer ? Tree::parse(*answer) : Tree();
}

std::string request(const std::string& method, const std::string& params = "{}", const std::string& id = "1") {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{}}})", id, method, params);
}

std::string initialize(const std::string& revision) {
  return request("initialize", R"({"protocolVersion":")" + revision + R"(","capabilities":{},"clientInfo":{}})");
}

int error_of(const std::string& line) {
  Session session = some_session();
  return answer_of(session, line)["error"]["code"];
}

TEST(McpSession, InitializeAgreesOnTheClientsRevisionOrTheLatest) {
  for (const auto& [wanted, agreed] : std::vector<std::pair<std::string, std::string>>{{"2024-11-05", "2024-11-05"},
                                                                                       {"2025-03-26", "2025-03-26"},
                                                                                       {"2025-06-18", "2025-06-18"},
                                                                                       {"2099-01-01", "2025-06-18"},
                                                                                       {"", "2025-06-18"}}) {
    Session session = some_session();
    const Tree answer = answer_of(session, initialize(wanted));
    EXPECT_EQ(answer["jsonrpc"], "2.0");
    EXPECT_EQ(answer["id"], 1);
    const Tree& result = answer["result"];
    EXPECT_EQ(result["protocolVersion"], agreed);
    EXPECT_EQ(result["capabilities"], Tree::parse(R"({"tools":{}})"));
    EXPECT_EQ(result["serverInfo"], Tree::parse(R"({"name":"heaptap","title":"heaptap","version":"1.2.3"})"));
    EXPECT_EQ(result["instructions"], "Use it");
  }
}

TEST(McpSession, IdsAreReturnedAsTheyCame) {
  Session session = some_session();
  for (const std::string id : {"0", "-1", "12345678901234567890", "1.50", R"("a\"\u00e9")"})
    EXPECT_EQ(answer_of(session, request("ping", "{}", id)),
              Tree::parse(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{{}}}})", id)));
}

TEST(McpSession, NotificationsAndResponsesHaveNoAnswer) {
  Session session = some_session();
  for (const std::string line :
       {R"({"jsonrpc":"2.0","method":"notifications/initialized"})", R"({"jsonrpc":"2.0","method":"unknown"})",
        R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})",
        R"({"jsonrpc":"2.0","id":1,"result":{}})", R"({"jsonrpc":"2.0","id":1,"error":{"code":1}})"})
    EXPECT_EQ(session.answer(line), std::nullopt) << line;
}

TEST(McpSession, WhatIsNoRequestIsAnError) {
  EXPECT_EQ(error_of("{"), kParseError);
  EXPECT_EQ(error_of("\xff"), kParseError);
  EXPECT_EQ(error_of(std::string(100'000, '[')), kParseError);
  for (const std::string line :
       {"1", "null", "\"ping\"", "[]", "{}", R"({"method":"ping","id":1})",
        R"({"jsonrpc":"1.0","method":"ping","id":1})", R"({"jsonrpc":2,"method":"ping","id":1})",
        R"({"jsonrpc":"2.0","id":1})", R"({"jsonrpc":"2.0","id":1,"method":7})",
        R"({"jsonrpc":"2.0","id":null,"method":"ping"})", R"({"jsonrpc":"2.0","id":{},"method":"ping"})",
        R"({"jsonrpc":"2.0","id":true,"method":"ping"})"})
    EXPECT_EQ(error_of(line), kInvalidRequest) << line;
  EXPECT_EQ(error_of(request("resources/list")), kMethodNotFound);
  EXPECT_EQ(Tree::parse(Session::answer_to_long_line(9))["error"]["code"], kInvalidRequest);
}

TEST(McpSession, WrongParametersAreAnError) {
  for (const std::string& line :
       {request("ping", "[]"), request("ping", "1"), request("initialize"),
        request("initialize", R"({"protocolVersion":1})"), request("tools/list", R"({"cursor":"x"})"),
        request("tools/call"), request("tools/call", R"({"name":1})"), request("tools/call", R"({"name":"unknown"})"),
        request("tools/call", R"({"name":"echo"})"), request("tools/call", R"({"name":"echo","arguments":[]})"),
        request("tools/call", R"({"name":"echo","arguments":{"text":1}})"),
        request("tools/call", R"({"name":"echo","arguments":{"text":"a","more":1}})"),
        request("tools/call", R"({"name":"echo","arguments":{"text":"a","times":"1"}})"),
        request("tools/call", R"({"name":"echo","arguments":{"text":"a","times":-1}})"),
        request("tools/call", R"({"name":"echo","arguments":{"text":"a","sort":"size"}})"),
        request("tools/call", R"({"name":"echo","arguments":{"text":"a\u0000"}})"),
        request("tools/call", R"({"name":"echo","arguments":{"text":"a","cursor":100}})"),
        request("tools/call", R"({"name":"echo","arguments":{"text":")" + std::string(5000, 'a') + "\"}}")})
    EXPECT_EQ(error_of(line), kInvalidParams) << line;
}

TEST(McpSession, ListsToolsWithTheirSchemas) {
  Session session = some_session();
  const Tree tools = answer_of(session, request("tools/list"))["result"]["tools"];
  ASSERT_EQ(tools.size(), 2u);
  const Tree& echo = tools[0];
  EXPECT_EQ(echo["name"], "echo");
  EXPECT_EQ(echo["description"], "Says the same");
  EXPECT_EQ(echo["annotations"]["readOnlyHint"], true);
  const Tree& schema = echo["inputSchema"];
  EXPECT_EQ(schema["type"], "object");
  EXPECT_EQ(schema["required"], Tree::parse(R"(["text"])"));
  EXPECT_EQ(schema["properties"]["text"], Tree::parse(R"({"type":"string","description":"What"})"));
  EXPECT_EQ(schema["properties"]["times"]["type"], "integer");
  EXPECT_EQ(schema["properties"]["sort"]["enum"], Tree::parse(R"(["live","peak"])"));
  EXPECT_TRUE(schema["properties"].contains("cursor"));
}

TEST(McpSession, CallsATool) {
  Session session = some_session();
  const Tree answer =
      answer_of(session, request("tools/call", R"({"name":"echo","arguments":{"text":"a","times":2}})"));
  EXPECT_EQ(answer["result"], Tree::parse(R"({"content":[{"type":"text","text":"a 2"}],"isError":false})"));
}

TEST(McpSession, AFailedToolTellsTheAssistantWhy) {
  Session session = some_session();
  const Tree answer = answer_of(session, request("tools/call", R"({"name":"echo","arguments":{"text":"fail"}})"));
  EXPECT_EQ(
      answer["result"],
      Tree::parse(R"({"content":[{"type":"text","text":"no such recording: \\x1b[m\\xff\nusage"}],"isError":true})"));
}

TEST(McpSession, ALongAnswerComesInPagesThatAreItsWhole) {
  Session session = some_session();
  std::string whole;
  std::string cursor = "0";
  for (int page = 0; !cursor.empty() && page < 100; ++page) {
    const std::string params = fmt::format(R"({{"name":"lines","arguments":{{"cursor":{}}}}})", cursor);
    const std::string text = answer_of(session, request("tools/call", params))["result"]["content"][0]["text"];
    EXPECT_LE(text.size(), kMaxPageBytes);
    const size_t note = text.find("[bytes ");
    whole += text.substr(0, note);
    cursor = note == std::string::npos ? "" : text.substr(text.rfind('=') + 1, text.rfind(']') - text.rfind('=') - 1);
  }
  EXPECT_EQ(whole, *some_tools()[1].answer({}));
}

TEST(McpSession, BatchesAreOfOneRevision) {
  const std::string batch =
      "[" + request("ping", "{}", "1") + R"(,{"jsonrpc":"2.0","method":"x"},7,)" + request("ping", "{}", "2") + "]";
  for (const std::string revision : {"2024-11-05", "2025-06-18"}) {
    Session session = some_session();
    answer_of(session, initialize(revision));
    EXPECT_EQ(answer_of(session, batch)["error"]["code"], kInvalidRequest) << revision;
  }
  Session session = some_session();
  answer_of(session, initialize("2025-03-26"));
  const Tree answers = answer_of(session, batch);
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0]["id"], 1);
  EXPECT_EQ(answers[1]["error"]["code"], kInvalidRequest);
  EXPECT_EQ(answers[2]["id"], 2);
  EXPECT_EQ(session.answer(R"([{"jsonrpc":"2.0","method":"x"}])"), std::nullopt);
  EXPECT_EQ(answer_of(session, "[]")["error"]["code"], kInvalidRequest);
  std::string many = "[1";
  for (int i = 0; i < 100; ++i) many += ",1";
  EXPECT_EQ(answer_of(session, many + "]")["error"]["code"], kInvalidRequest);
}

TEST(Page, OneLongLineIsCutBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "漢";
  std::string whole;
  for (size_t at = 0; at < text.size();) {
    const std::string page = *page_of(text, at);
    const size_t end = std::min(page.find('\n'), page.size());
    EXPECT_EQ(end % 3, 0u);
    whole += page.substr(0, end);
    at += end;
  }
  EXPECT_EQ(whole, text);
}

TEST(Page, AnyCursorIsAPageOrAnError) {
  for (uint64_t cursor = 0; cursor < 12; ++cursor)
    EXPECT_EQ(page_of("漢字é", cursor).has_value(), cursor < 8) << cursor;
  EXPECT_EQ(*page_of("漢字", 1), "字");
  EXPECT_FALSE(page_of("a", ~uint64_t{0}));
  EXPECT_EQ(*page_of("", 0), "");
  EXPECT_TRUE(page_of(std::string(20'000, '\x80'), 1));
}

}  // namespace
}  // namespace heaptap::mcp

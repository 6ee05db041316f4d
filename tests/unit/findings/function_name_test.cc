// Names of functions as they are shown: what is left out, and that it stays the same function.
#include "analysis/findings/function_name.h"

#include <gtest/gtest.h>

namespace heaptap::findings {
namespace {

TEST(FunctionNames, HaveNoDefaultArguments) {
  const std::pair<const char*, const char*> cases[] = {
      {"std::vector<int, std::allocator<int> >::push_back(int&&)", "std::vector<int>::push_back(int&&)"},
      {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::reserve(unsigned long)",
       "std::string::reserve(unsigned long)"},
      {"std::basic_ostream<char, std::char_traits<char> >& f()", "std::ostream& f()"},
      {"std::map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, "
       "std::vector<shop::Item, std::allocator<shop::Item> >, std::less<std::__cxx11::basic_string<char, "
       "std::char_traits<char>, std::allocator<char> > >, std::allocator<std::pair<int const, int> > >::at(int)",
       "std::map<std::string, std::vector<shop::Item>>::at(int)"},
      {"std::__1::basic_string<wchar_t, std::__1::char_traits<wchar_t>, std::__1::allocator<wchar_t> >::f()",
       "std::wstring::f()"},
      {"shop::Pool<std::allocator<int> >::f()", "shop::Pool<std::allocator<int>>::f()"},
      {"shop::__1::Cart::f()", "shop::__1::Cart::f()"},
      {"operator<< <char>(shop::Out&)", "operator<< <char>(shop::Out&)"},
      {"shop::operator<(shop::A const&, std::less<int>)", "shop::operator<(shop::A const&, std::less<int>)"},
      {"broken<std::vector<int", "broken<std::vector<int"},
      {"plain_c", "plain_c"},
      {"", ""},
  };
  for (const auto& [name, shown] : cases) EXPECT_EQ(without_defaults(name), shown);
}

TEST(FunctionNames, AreFoundBetweenReturnTypeAndParameters) {
  const std::pair<const char*, const char*> cases[] = {
      {"void shop::add<int>(shop::Cart&) const", "shop::add<int>"},
      {"unsigned long count<std::map<int, char> >(int)", "count<std::map<int, char> >"},
      {"std::enable_if<(1 > 0), int>::type pick<int>(int)", "pick<int>"},
      {"decltype (f()) call<int>(int)", "call<int>"},
      {"operator new(unsigned long)", "operator new"},
      {"shop::Cart::operator int() const", "shop::Cart::operator int"},
      {"shop::Cart::operator()(int) const", "shop::Cart::operator()"},
      {"std::ostream& std::operator<< <char>(std::ostream&, char)", "std::operator<< <char>"},
      {"(anonymous namespace)::make(int)", "(anonymous namespace)::make"},
      {"make(int) [clone .part.0]", "make"},
      {"run(int)::{lambda(int)#1}::operator()(int) const", "run(int)::{lambda(int)#1}::operator()"},
      {"run(int) const::{lambda()#2}::operator()() const", "run(int) const::{lambda()#2}::operator()"},
      {"<alloc::vec::Vec<T> as core::clone::Clone>::clone", "<alloc::vec::Vec<T> as core::clone::Clone>::clone"},
      {"main", "main"},
      {"", ""},
      {"(", "("},
      {">>>", ">>>"},
  };
  for (const auto& [name, found] : cases) EXPECT_EQ(qualified_name(name), found) << name;
}

TEST(FunctionNames, OfLambdasAreTheirPlace) {
  EXPECT_EQ(plain_function("main::{lambda()#1}::operator()() const"), "main::{lambda()#1}");
  EXPECT_EQ(plain_function("auto main::{lambda(auto:1)#1}::operator()<int>(int) const"), "main::{lambda(auto:1)#1}");
  EXPECT_EQ(plain_function("main::{lambda(int)#1}::_FUN(int)"), "main::{lambda(int)#1}");
  EXPECT_EQ(plain_function("void shop::add<int>(int)"), "shop::add<int>(int)");
  EXPECT_EQ(plain_function("shop::Call::operator()(int)"), "shop::Call::operator()(int)");
}

TEST(FunctionNames, AreCutInTheMiddle) {
  EXPECT_EQ(cut_middle("abcdefghij", 9), "abc...hij");
  EXPECT_EQ(cut_middle("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(cut_middle("äöüäöüäöüä", 9), "äöü...öüä") << "characters, not bytes";
  EXPECT_EQ(shown_width("äöü"), 3u);
  EXPECT_EQ(short_name("shop::add(shop::Cart&, int)", 20), "shop::add(...)");
  EXPECT_EQ(short_name("shop::add<shop::Cart, int>(int)", 20), "shop::add<...>(...)");
  EXPECT_EQ(short_name("find.<locals>.<genexpr>", 20), "find.<lo...<genexpr>");
}

TEST(FunctionNames, KeepWhatTellsThemApart) {
  const std::tuple<const char*, size_t, const char*> cases[] = {
      {"std::map<int, std::shared_ptr<User>>", 36, "std::map<int, std::shared_ptr<User>>"},
      {"std::map<int, std::shared_ptr<User>>", 35, "std::map<int, shared_ptr<User>>"},
      {"std::map<int, std::shared_ptr<User>>", 30, "std::map<int, shared_ptr<...>>"},
      {"shop::net::Pool<shop::User>::add(int)", 28, "...::Pool<User>::add(...)"},
      {"std::map<int, std::shared_ptr<User>>", 24, "std::map<...>"},
      {"node::(anonymous namespace)::start_io_thread", 24, "...::start_io_thread"},
      {"node::(anonymous namespace)::start_io_thread", 12, "star...hread"},
      {"shop::Cart<int>::add(shop::Item&)", 30, "shop::Cart<int>::add(...)"},
      {"shop::Cart<int>::add(shop::Item&)", 22, "...::add(...)"},
      {"<alloc::vec::Vec<T> as core::clone::Clone>::clone", 30, "<Vec<T> as Clone>::clone"},
  };
  for (const auto& [name, most, shown] : cases) EXPECT_EQ(short_name(name, most), shown) << most;
}

TEST(FunctionNames, OfAnyDepthAreTaken) {
  std::string deep = "f";
  for (int i = 0; i < 20'000; ++i) deep += "<f";
  EXPECT_FALSE(without_defaults(deep).empty());
  deep += std::string(20'000, '>') + "::g(int)";
  EXPECT_FALSE(plain_function(deep).empty());
}

}  // namespace
}  // namespace heaptap::findings

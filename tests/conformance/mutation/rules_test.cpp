// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/mutation/rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace etb::mutation {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// Returns the mutated texts of one class, or of all.
std::set<std::string> mutated(const std::string& text, const std::string& group = "") {
  std::set<std::string> out;
  for (const Mutant& mutant : find_mutants("a.cpp", Source(text)))
    if (group.empty() || mutant.group == group) out.insert(apply(mutant, text));
  return out;
}

TEST(Tokens, LeaveOutCommentsDirectivesAndTexts) {
  const Source source("#define X 1 + \\\n 2\n// a + b\n/* c */ x = \"d + e\" + R\"(f + g)\";");
  ASSERT_EQ(source.tokens().size(), 6u);
  EXPECT_EQ(source.at(0), "x");
  EXPECT_EQ(source.tokens()[0].line, 4u);
  EXPECT_EQ(source.at(4), "R\"(f + g)\"");
}

TEST(Tokens, MatchBrackets) {
  const Source source("f(a[1], {b});");
  EXPECT_EQ(source.tokens()[1].partner, 10);
  EXPECT_EQ(source.tokens()[3].partner, 5);
  EXPECT_EQ(source.tokens()[4].opener, 3);
  EXPECT_EQ(source.tokens()[0].opener, -1);
}

TEST(Rules, ReplaceOperatorsButNotPointersAndTemplates) {
  EXPECT_THAT(mutated("int f(int* a, B<C>& b) { return *a * c; }", "arithmetic"),
              Contains("int f(int* a, B<C>& b) { return *a / c; }"));
  EXPECT_THAT(mutated("std::vector<int*> x(B<C>& b);", "arithmetic"), IsEmpty());
  EXPECT_THAT(mutated("bool x = a < b;", "comparison"), Contains("bool x = a <= b;"));
  EXPECT_THAT(mutated("bool x = a && !b;", "logic"),
              testing::UnorderedElementsAre("bool x = a || !b;", "bool x = a && b;"));
}

TEST(Rules, ChangeConstants) {
  EXPECT_THAT(mutated("x = 3;", "constant"), testing::UnorderedElementsAre("x = 4;", "x = 2;", "x = 6;"));
  EXPECT_THAT(mutated("x = 0.5f;", "constant"), Contains("x = (0.5f * 2);"));
  EXPECT_THAT(mutated("x = true;", "constant"), Contains("x = false;"));
}

TEST(Rules, ChangeConditionsBoundsAndIndices) {
  EXPECT_THAT(mutated("void f() { if (a == b) return; }", "condition"),
              Contains("void f() { if (!(a == b)) return; }"));
  EXPECT_THAT(mutated("x = a ? b : c;", "condition"), testing::ElementsAre("x = a ? c : b;"));
  const auto bounds = mutated("for (int i = 0; i < n.size(); ++i) g();", "bound");
  EXPECT_THAT(bounds, Contains("for (int i = 0; i < n.size() - 1; ++i) g();"));
  EXPECT_THAT(bounds, Contains("for (int i = 1; i < n.size(); ++i) g();"));
  EXPECT_THAT(bounds, Contains("for (int i = 0; i <= n.size(); ++i) g();"));
  EXPECT_THAT(mutated("x = a[i];", "index"), testing::UnorderedElementsAre("x = a[i + 1];", "x = a[i - 1];"));
  EXPECT_THAT(mutated("auto f = [i] { };", "index"), IsEmpty());
}

TEST(Rules, DeleteStatementsAndSwapArguments) {
  EXPECT_THAT(mutated("void f() { g(1); x = y; int z = 0; return; }", "statement"),
              testing::UnorderedElementsAre("void f() { ; x = y; int z = 0; return; }",
                                            "void f() { g(1); ; int z = 0; return; }"));
  EXPECT_THAT(mutated("x = f(a, g(b, c));", "arguments"), Contains("x = f(g(b, c), a);"));
  EXPECT_THAT(mutated("int f(int a, int b) { return 0; }", "arguments"), IsEmpty());
}

TEST(Rules, LeaveOutAssertionsAndTemplates) {
  EXPECT_THAT(mutated("void f() { assert(a + 1 < 2); static_assert(sizeof(x) == 4); }"), IsEmpty());
  EXPECT_THAT(mutated("template <int n = 3> void f();"), IsEmpty());
}

TEST(Rules, IdsAreUniqueAndStable) {
  const std::string text = "int f(int a) {\n  return a + 1 < 2 ? a * 3 : a - 4;\n}\n";
  std::set<std::string> ids;
  const std::vector<Mutant> mutants = find_mutants("a.cpp", Source(text));
  for (const Mutant& mutant : mutants) ids.insert(mutant.id);
  EXPECT_EQ(ids.size(), mutants.size());
  EXPECT_THAT(mutants, Not(SizeIs(testing::Lt(8u))));
  EXPECT_EQ(mutants[0].id, find_mutants("a.cpp", Source(text))[0].id);
  EXPECT_EQ(diff_of(mutants[0], text).substr(0, 4), "-  r");
}

}  // namespace
}  // namespace etb::mutation

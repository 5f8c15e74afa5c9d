import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { defineConfig } from 'vitepress';
import { chineseSidebar, otherFiles, pageLink, pages, root, sidebar, titleOf } from './pages.ts';

const title = 'Kindred';

export default defineConfig({
  title,
  srcDir: '..',
  outDir: join(root, 'build/site'),
  cacheDir: join(root, 'build/site-cache'),
  srcExclude: [...otherFiles],
  rewrites: Object.fromEntries([...pages].filter(([file, page]) => file !== page)),
  vite: {
    build: { target: 'es2022', chunkSizeWarningLimit: 2_000 },
    esbuild: { tsconfigRaw: { compilerOptions: { target: 'es2022' } } },
  },
  locales: {
    root: {
      label: 'English',
      lang: 'en',
      description: 'Declare a model in TypeScript, and get a Kubernetes-style resource API for it.',
      themeConfig: {
        nav: [
          { text: 'Guide', link: '/guide/tutorial' },
          { text: 'Reference', link: '/reference/' },
          { text: 'Comparison', link: '/guide/comparison' },
        ],
        sidebar: sidebar as never,
      },
    },
    zh: {
      label: '简体中文',
      lang: 'zh-CN',
      link: '/zh/',
      description: '用 TypeScript 声明模型，即可获得 Kubernetes 风格的资源 API。',
      themeConfig: {
        nav: [
          { text: '教程', link: '/zh/guide/tutorial' },
          { text: '参考（英文）', link: '/reference/' },
        ],
        sidebar: chineseSidebar as never,
        outline: { label: '本页内容' },
        docFooter: { prev: '上一页', next: '下一页' },
        darkModeSwitchLabel: '外观',
        lightModeSwitchTitle: '切换到浅色模式',
        darkModeSwitchTitle: '切换到深色模式',
        sidebarMenuLabel: '目录',
        returnToTopLabel: '回到顶部',
        langMenuLabel: '选择语言',
        skipToContentLabel: '跳到正文',
      },
    },
  },
  themeConfig: {
    // Not every page has a translation: the menu leads to the first page of the language.
    i18nRouting: false,
    outline: { level: [2, 3] },
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          options: {
            // Chinese has no spaces between its words: each character counts.
            tokenize: (text: string) => text.match(/\p{Script=Han}|[^\s\p{P}\p{Script=Han}]+/gu) ?? [],
          },
        },
        locales: {
          zh: {
            translations: {
              button: { buttonText: '搜索', buttonAriaLabel: '搜索' },
              modal: {
                noResultsText: '没有结果',
                resetButtonTitle: '清除',
                backButtonTitle: '关闭',
                displayDetails: '显示详情',
                footer: { selectText: '选择', navigateText: '移动', closeText: '关闭' },
              },
            },
          },
        },
      },
    },
  },
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config: (md) => {
      const fence = md.renderer.rules.fence!;
      // A block of a file has the name of the file after its language.
      md.renderer.rules.fence = (tokens, i, options, env, self) => {
        const [, name] = tokens[i]!.info.trim().split(/\s+/);
        const block = fence(tokens, i, options, env, self);
        return name ? `<p class="file-name">${md.utils.escapeHtml(name)}</p>\n${block}` : block;
      };
      const code = md.renderer.rules.code_inline!;
      // Names such as `KINDRED_LIST_MAX_SIZE` may go on in the next line, or they make tables too wide.
      md.renderer.rules.code_inline = (...args) =>
        code(...args).replace(/(?<=>[^<]*)(?:(?<=[._/=-])(?=\w)|(?<=[a-z])(?=[A-Z]))/g, '<wbr>');
      md.core.ruler.push('page-links', ({ tokens, env }) => {
        const file = relative(root, env.realPath ?? env.path).replaceAll('\\', '/');
        for (const children of tokens.map(({ children }) => children ?? [])) {
          for (const [i, token] of children.entries()) {
            const href = token.type === 'link_open' ? String(token.attrGet('href')) : '';
            if (href === '' || /^(\w+:|#)/.test(href)) continue;
            const link = pageLink(file, href);
            if (link !== undefined) {
              token.attrSet('href', link);
              continue;
            }
            // A file of the repository alone, such as an example, is named and not linked.
            token.attrs = null;
            token.tag = 'span';
            children.slice(i).find(({ type }) => type === 'link_close')!.tag = 'span';
          }
        }
      });
    },
  },
  buildEnd: ({ outDir }) => {
    const lines = [...pages]
      .filter(([, page]) => !page.startsWith('zh/'))
      .map(([file, page]) => `- [${titleOf(file)}](/${page.replace(/\.md$/, '.html')})`);
    writeFileSync(
      join(outDir, 'llms.txt'),
      `# ${title}\n\n> Declare a model in TypeScript, and get a Kubernetes-style resource API for it: storage, validation, indexes, REST, watch, controllers, permissions.\n\nAll pages in one file: /llms-full.txt\n\n## Pages\n\n${lines.join('\n')}\n`,
    );
    const texts = [...pages]
      .filter(([, page]) => !page.startsWith('zh/'))
      .map(([file]) => readFileSync(join(root, file), 'utf8'));
    writeFileSync(join(outDir, 'llms-full.txt'), texts.join('\n\n'));
  },
});

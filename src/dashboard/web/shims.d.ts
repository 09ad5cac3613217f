/** What the bundler gives and TypeScript does not know: components, style sheets. */
declare module '*.vue' {
  import type { DefineComponent } from 'vue';
  const component: DefineComponent;
  export default component;
}

declare module '*.css';
